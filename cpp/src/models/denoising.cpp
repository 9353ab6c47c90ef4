#include "sentencode/models/denoising.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <utility>

#include "sentencode/error.h"
#include "sentencode/models/state_decoder.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

Sequences noisy(const Sequences& sentences, double drop_words, double swap_words) {
  check_range("drop_words", drop_words, probability(""));
  check_range("swap_words", swap_words, probability(""));
  const Tensor& x = sentences.x;                                                 // [B, T, E]
  const Tensor positions = at::arange(x.size(1), x.options().dtype(at::kLong));  // [T]
  const auto random = [&] { return at::rand({x.size(0), x.size(1)}, x.options().dtype(at::kFloat)); };
  const Tensor end = sentences.lengths.to(x.device()).unsqueeze(1) - 1;  // [B, 1]
  const Tensor remains =
      sentences.mask.logical_and((random() >= drop_words).logical_or(positions == end));  // [B, T]
  const Tensor lengths = remains.sum(1);                                                  // [B]
  // Remaining words come first, in order: word t was at order[t].
  const Tensor order = std::get<1>(
      remains.logical_not().to(at::kByte).sort(/*stable=*/true, 1, /*descending=*/false));  // [B, T]

  const Tensor first = positions - positions.remainder(2);                 // [T], of two neighbours
  const Tensor both = (first + 1) < (lengths - 1).unsqueeze(1);            // [B, T], neither is the end
  const Tensor swap = (random() < swap_words).index_select(1, first);      // [B, T], equal for both
  const Tensor other = positions + 1 - 2 * positions.remainder(2);         // [T]
  const Tensor now = at::where(both.logical_and(swap), other, positions);  // [B, T]
  const Tensor from = order.gather(1, now).unsqueeze(2).expand_as(x);      // [B, T, E]
  return Sequences::of(x.gather(1, from), lengths);
}

DenoisingNetwork::DenoisingNetwork(const DenoisingOptions& options)
    : Autoencoder("DenoisingNetwork", checked(options).words, options.hidden, options.hidden),
      options_(options) {
  encoder_ = register_module(
      "encoder", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                     .cell = nn::Cell::lstm, .features = options.words.features, .hidden = options.hidden}));
  decoder_ = register_module(
      "decoder", std::make_shared<StateDecoder>(options.words.features, options.hidden, options.hidden));
}

Tensor DenoisingNetwork::drop(const Tensor& x) const {
  return at::dropout(x, options_.dropout, nn::trains(*this));
}

Sequences DenoisingNetwork::corrupted(const Sequences& sentences) {
  return noisy(sentences, options_.drop_words, options_.swap_words);
}

Tensor DenoisingNetwork::encode(const Sequences& sentences) {
  const Tensor x = drop(sentences.x), lengths = sentences.host_lengths_or_all();
  if (!lengths.defined() || lengths.is_cpu()) {
    return encoder_->forward(x, lengths).state[0].squeeze(1);  // [B, H]
  }
  // The number of remaining words is on the device. Padding after the last word does not change its state.
  const Tensor h = encoder_->forward(x).output;                                                // [B, T, H]
  const Tensor last = (lengths - 1).clamp_min(0).view({-1, 1, 1}).expand({-1, 1, h.size(2)});  // [B, 1, H]
  return h.gather(1, last).squeeze(1).masked_fill((lengths == 0).unsqueeze(1), 0);             // [B, H]
}

Tensor DenoisingNetwork::decode(const Tensor& z, const Sequences& y) {
  check_code(z);
  return decoder_->forward(z, {drop(y.x), y.lengths, y.mask, y.full, y.host_lengths});  // [B, T, H]
}

nn::DecoderStart DenoisingNetwork::start(const nn::DecoderMemory& memory) {
  check_code(memory.at(0));
  return {{}, decoder_->start(memory[0])};
}

nn::DecoderStep DenoisingNetwork::step(const Tensor& ids, const nn::DecoderMemory& /*memory*/,
                                       const nn::DecoderCache& cache) {
  auto [h, next] = decoder_->step(drop(writer().vectors(ids)), cache);
  return {writer().logits(h), std::move(next)};
}

}  // namespace sentencode::models
