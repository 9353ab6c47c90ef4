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
    : WritingNetwork("SkipThoughtsNetwork", options.words, options.hidden,
                     options.words.tied ? options.words.features : options.hidden),
      options_(options) {
  const std::int64_t features = options.words.features, hidden = options.hidden;
  ST_CHECK(!options.bidirectional || hidden % 2 == 0, InvalidInput,
           "hidden must be even, a half for each direction, got ", hidden);
  const auto gru = [&](const char* name, std::int64_t wide, bool bidirectional) {
    return register_module(name, std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                     .features = features, .hidden = wide, .bidirectional = bidirectional}));
  };
  encoder_ = gru("encoder", options.bidirectional ? hidden / 2 : hidden, options.bidirectional);
  previous_ = gru("previous", hidden, false);
  next_ = gru("next", hidden, false);
  if (options.words.tied) narrow_ = register_module("narrow", nn::xavier_linear(hidden, features));
}

Tensor SkipThoughtsNetwork::encode(const Sequences& s) {
  return encoder_->forward(s.x, s.host_lengths_or_all()).state[0].flatten(1);  // [B, H]: the last states
}

nn::WrittenLoss SkipThoughtsNetwork::told(const nn::RecurrentStack& decoder, const Tensor& z,
                                          const training::TokenTensors& words) const {
  const Sequences before = Sequences::of(writer().vectors(writer().before(words.ids)), words.lengths,
                                         words.full, words.host_lengths);                       // [B, T, E]
  Tensor h = decoder.forward(before.x, before.host_lengths_or_all(), {z.unsqueeze(1)}).output;  // [B, T, H]
  if (narrow_ != nullptr) h = narrow_->forward(h);                                              // [B, T, E]
  return writer().loss(h, words.ids, before.key_mask(), nn::trains(*this));
}

training::Loss SkipThoughtsNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 3, "sentences, the one before each, the one behind it");
  const Tensor z = encode(words_of(batch.fields[0]));  // [B, H]
  const nn::WrittenLoss before = told(*previous_, z, batch.fields[1]);
  const nn::WrittenLoss behind = told(*next_, z, batch.fields[2]);
  const auto words_before = static_cast<double>(batch.fields[1].tokens);
  const auto words_behind = static_cast<double>(batch.fields[2].tokens);
  training::Loss found{before.sum + behind.sum, words_before + words_behind, {}};
  if (before.correct.defined()) found.right = before.correct + behind.correct;
  const Tensor costs = at::stack({before.sum.detach(), behind.sum.detach()}).to(at::kDouble);  // [2]
  const Tensor counts =
      at::stack({at::full({}, words_before, costs.options()), at::full({}, words_behind, costs.options())});
  found.figures = at::stack({costs, counts}, 1);  // [2, 2]
  return found;
}

}  // namespace sentencode::models
