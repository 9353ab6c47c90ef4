#include "sentencode/models/lstm_autoencoder.h"

#include <ATen/Functions.h>

#include <utility>

#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

LSTMAutoencoderNetwork::LSTMAutoencoderNetwork(const LSTMAutoencoderOptions& options)
    : LatentAutoencoder("LSTMAutoencoderNetwork", checked(options).words,
                        nn::pooling_width(options.pooling) * options.layers.hidden, options.layers.hidden),
      options_(options) {
  const std::int64_t hidden = options.layers.hidden;
  options.layers.check();
  ST_CHECK(hidden % 2 == 0, InvalidInput,
           "hidden must be even, half of it for each direction of the encoder, got ", hidden);
  encoder_ = register_module(
      "encoder", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{.cell = nn::Cell::lstm,
                                                                           .features = options.words.features,
                                                                           .hidden = hidden / 2,
                                                                           .bidirectional = true}));
  decoder_ = register_module(
      "decoder", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                     .cell = nn::Cell::lstm, .features = options.words.features, .hidden = hidden}));
  latent_ = register_module("latent", std::make_shared<LatentAttention>(options.layers));
}

Tensor LSTMAutoencoderNetwork::rows(const Tensor& z) const {
  check_code(z);
  return z.unflatten(1, {-1, options_.layers.hidden});  // [B, rows, H]
}

Tensor LSTMAutoencoderNetwork::drop(const Tensor& x) const {
  return options_.layers.drop_input(x, nn::trains(*this));
}

Tensor LSTMAutoencoderNetwork::encode(const Sequences& sentences) {
  const Tensor h = encoder_->forward(drop(sentences.x), sentences.host_lengths_or_all()).output;  // [B, T, H]
  return nn::masked_pooling(h, sentences.key_mask(), options_.pooling);  // [B, dim]  eq. 12-14
}

Tensor LSTMAutoencoderNetwork::recur(const Sequences& y) const {
  return decoder_->forward(drop(y.x), y.host_lengths_or_all()).output;  // [B, T, H]
}

Tensor LSTMAutoencoderNetwork::decode(const Tensor& z, const Sequences& y) {
  return latent_->forward(recur(y), latent_->project(rows(z)));  // [B, T, H]  eq. 16-20
}

nn::DecoderStart LSTMAutoencoderNetwork::start(const nn::DecoderMemory& memory) {
  const Tensor& z = memory.at(0);
  const nn::KeysValues latent = latent_->project(rows(z));  // [B, heads, rows, H / heads]
  return {{latent.keys, latent.values}, decoder_->zero_state(z.size(0), z.options())};
}

nn::DecoderStep LSTMAutoencoderNetwork::step(const Tensor& ids, const nn::DecoderMemory& memory,
                                             const nn::DecoderCache& cache) {
  auto [a, next] = decoder_->step(drop(writer().vectors(ids)), cache);                   // [N, H]
  const Tensor h = latent_->forward(a.unsqueeze(1), {memory[0], memory[1]}).squeeze(1);  // [N, H]
  return {writer().logits(h), std::move(next)};
}

Tensor LSTMAutoencoderNetwork::attention(const Sequences& sentences) {
  // [B, heads, T, rows]
  return latent_->weights(recur(writer().before(sentences)), rows(encode(sentences)));
}

}  // namespace sentencode::models
