#include "sentencode/models/fast_sent.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

FastSentNetwork::FastSentNetwork(const FastSentOptions& options)
    : WritingNetwork("FastSentNetwork", checked(options).words, options.words.features,
                     options.words.features),
      options_(options) {}

std::vector<std::string> FastSentNetwork::figures() const {
  if (options_.autoencode) return {"previous", "next", "sentence"};
  return {"previous", "next"};
}

Tensor FastSentNetwork::encode(const Sequences& s) { return s.x.sum(1); }  // [B, E]; padding is zero

training::Loss FastSentNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 3, "sentences, the previous ones, the next ones");
  const Tensor z = encode(words_of(batch.fields[0]));  // [B, E]
  const bool training = nn::trains(*this);
  Tensor log_p, best;  // of the full softmax
  if (!training || (options_.words.sampled_words == 0 && options_.words.label_smoothing == 0)) {
    const Tensor logits = writer().logits(z);
    log_p = logits.log_softmax(1, at::promote_types(logits.scalar_type(), at::kFloat));  // [B, V]
    best = log_p.argmax(1, /*keepdim=*/true);                                            // [B, 1]
  }
  const auto predicted = [&](const training::TokenTensors& words) -> nn::WrittenLoss {
    if (!log_p.defined()) {
      const Tensor states = z.unsqueeze(1).expand({-1, words.ids.size(1), -1});  // [B, T, E]
      return writer().loss(states, words.ids, words.full ? Tensor() : words.mask, training);
    }
    const Tensor nll = -log_p.gather(1, words.ids).masked_fill(words.mask.logical_not(), 0);  // [B, T]
    return {nll.sum(), (best == words.ids).logical_and(words.mask).sum()};
  };
  std::vector<nn::WrittenLoss> losses{predicted(batch.fields[1]), predicted(batch.fields[2])};
  std::vector<std::int64_t> words{batch.fields[1].tokens, batch.fields[2].tokens};
  if (options_.autoencode) {
    losses.push_back(predicted(batch.fields[0]));
    words.push_back(batch.fields[0].tokens);
  }
  return sum_of(losses, words);
}

}  // namespace sentencode::models
