#include "sentencode/models/recurrent_autoencoder.h"

#include <ATen/Functions.h>

#include "models/config.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

RecurrentNetwork::RecurrentNetwork(const AutoencoderOptions& words,
                                   const RecurrentAutoencoderOptions& options)
    : Autoencoder("RecurrentNetwork", words, nn::pooling_width(options.pooling) * options.layers.hidden,
                  options.layers.hidden),
      options_(options) {
  const std::int64_t hidden = options.layers.hidden;
  options.layers.check();
  ST_CHECK(hidden % 2 == 0, InvalidInput,
           "hidden must be even, a half for each direction of the encoder, got ", hidden);
  encoder_ = register_module(
      "encoder",
      std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
          .cell = nn::Cell::lstm, .features = words.features, .hidden = hidden / 2, .bidirectional = true}));
  decoder_ =
      register_module("decoder", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                     .cell = nn::Cell::lstm, .features = words.features, .hidden = hidden}));
  latent_ = register_module("latent", std::make_shared<LatentAttention>(options.layers));
}

Tensor RecurrentNetwork::rows(const Tensor& z) const {
  check_code(z);
  return z.unflatten(1, {-1, options_.layers.hidden});  // [B, rows, H]
}

Tensor RecurrentNetwork::drop(const Tensor& x) const {
  return options_.layers.drop_input(x, nn::trains(*this));
}

Tensor RecurrentNetwork::encode(const Sequences& sentences) {
  const Tensor h = encoder_->forward(drop(sentences.x), sentences.lengths).output;  // [B, T, H]
  return nn::masked_pooling(h, sentences.mask, options_.pooling);                   // [B, dim]  eq. 12-14
}

Tensor RecurrentNetwork::recur(const Sequences& y) const {
  return decoder_->forward(drop(y.x), y.lengths).output;  // [B, T, H]
}

Tensor RecurrentNetwork::decode(const Tensor& z, const Sequences& y) {
  return latent_->forward(recur(y), latent_->project(rows(z)));  // [B, T, H]  eq. 16-20
}

nn::DecoderState RecurrentNetwork::start(const nn::DecoderState& memory) {
  const Tensor& z = memory.at(0);
  const nn::KeysValues latent = latent_->project(rows(z));                // [B, heads, rows, H / heads]
  nn::DecoderState state = decoder_->zero_state(z.size(0), z.options());  // h, c
  state.insert(state.end(), {latent.keys, latent.values});
  return state;
}

std::pair<Tensor, nn::DecoderState> RecurrentNetwork::step(const Tensor& ids, const nn::DecoderState& state) {
  auto [a, next] = decoder_->step(drop(vectors(ids)), {state[0], state[1]});           // [B, H]
  const Tensor h = latent_->forward(a.unsqueeze(1), {state[2], state[3]}).squeeze(1);  // [B, H]
  next.insert(next.end(), {state[2], state[3]});
  return {logits(h), std::move(next)};
}

Tensor RecurrentNetwork::attention(const Sequences& sentences) {
  return latent_->weights(recur(words_before(sentences)), rows(encode(sentences)));  // [B, heads, T, rows]
}

std::string RecurrentNetwork::config() const { return config_of("RecurrentNetwork", options(), options_); }

}  // namespace sentencode::models
