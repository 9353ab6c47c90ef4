#include "sentencode/models/skip_thoughts.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

SkipThoughtsNetwork::SkipThoughtsNetwork(const SkipThoughtsOptions& options)
    : WritingNetwork("SkipThoughtsNetwork", checked(options).words, options.hidden,
                     options.words.tied ? options.words.features : options.hidden),
      options_(options) {
  const std::int64_t features = options.words.features, hidden = options.hidden;
  ST_CHECK(!options.bidirectional || hidden % 2 == 0, InvalidInput,
           "hidden must be even, half of it for each direction, got ", hidden);
  const auto gru = [&](const char* name, std::int64_t units, bool bidirectional) {
    return register_module(
        name, std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{.features = features,
                                                                        .hidden = units,
                                                                        .bidirectional = bidirectional,
                                                                        .layer_norm = options.layer_norm}));
  };
  encoder_ = gru("encoder", options.bidirectional ? hidden / 2 : hidden, options.bidirectional);
  previous_ = gru("previous", hidden, false);
  next_ = gru("next", hidden, false);
  if (options.words.tied) project_ = register_module("narrow", nn::xavier_linear(hidden, features));
}

Tensor SkipThoughtsNetwork::encode(const Sequences& s) {
  return encoder_->forward(s.x, s.host_lengths_or_all()).state[0].flatten(1);  // [B, H]: the last states
}

nn::WrittenLoss SkipThoughtsNetwork::decoder_loss(const nn::RecurrentStack& decoder, const Tensor& z,
                                                  const training::TokenTensors& words) const {
  const Sequences y = Sequences::of(writer().vectors(writer().before(words.ids)), words.lengths, words.full,
                                    words.host_lengths);                              // [B, T, E]
  Tensor h = decoder.forward(y.x, y.host_lengths_or_all(), {z.unsqueeze(1)}).output;  // [B, T, H]
  if (project_ != nullptr) h = project_->forward(h);                                  // [B, T, E]
  return writer().loss(h, words.ids, y.key_mask(), nn::trains(*this));
}

training::Loss SkipThoughtsNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 3, "sentences, the previous ones, the next ones");
  const Tensor z = encode(words_of(batch.fields[0]));  // [B, H]
  const nn::WrittenLoss previous = decoder_loss(*previous_, z, batch.fields[1]);
  const nn::WrittenLoss next = decoder_loss(*next_, z, batch.fields[2]);
  return sum_of({previous, next}, {batch.fields[1].tokens, batch.fields[2].tokens});
}

}  // namespace sentencode::models
