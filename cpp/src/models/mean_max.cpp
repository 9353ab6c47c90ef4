#include "sentencode/models/mean_max.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/normalization.h>

#include "models/config.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

/// Sections 3.3 and 3.4.
class MeanMaxEncoder : public torch::nn::Module {
 public:
  MeanMaxEncoder(std::int64_t features, const MeanMaxOptions& options)
      : torch::nn::Module("MeanMaxEncoder"), options_(options) {
    const LayerOptions& layers = options.layers;
    positions_ = register_module(
        "positions", std::make_shared<nn::Positions>(features, options.positions, options.places, "clamp"));
    attention_ =
        register_module("attention", std::make_shared<nn::MultiHeadAttention>(layers.attention(features)));
    norm_a_ = register_module("norm_a", nn::layer_norm(layers.hidden, layers.epsilon));
    feed_forward_ =
        register_module("feed_forward", std::make_shared<nn::FeedForward>(layers.hidden, layers.inner));
    norm_h_ = register_module("norm_h", nn::layer_norm(layers.hidden, layers.epsilon));
  }

  Tensor forward(const Sequences& s) const {
    const auto drop = [&](const Tensor& x) { return options_.layers.drop_output(x, nn::trains(*this)); };
    const Tensor x = input(s.x);  // [B, T, E]  eq. 1, 2
    // No residual here: H may be wider than E.
    const Tensor a = norm_a_->forward(drop(attention_->forward(x, x, x, s.mask)));  // [B, T, H]  eq. 8, 9
    const Tensor h = norm_h_->forward(drop(feed_forward_->forward(a)) + a);         // [B, T, H]  eq. 10, 11
    return nn::masked_pooling(h, s.mask, options_.pooling);                         // [B, dim]   eq. 12-14
  }

 private:
  Tensor input(const Tensor& e) const {
    return options_.layers.drop_input(e + positions_->forward(e), nn::trains(*this));
  }

  MeanMaxOptions options_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
  std::shared_ptr<torch::nn::LayerNormImpl> norm_a_, norm_h_;
};

/// Section 3.5.
class MeanMaxDecoder : public torch::nn::Module {
 public:
  MeanMaxDecoder(std::int64_t features, const MeanMaxOptions& options)
      : torch::nn::Module("MeanMaxDecoder"), options_(options) {
    positions_ = register_module(
        "positions", std::make_shared<nn::Positions>(features, options.positions, options.places, "clamp"));
    attention_ = register_module(
        "attention", std::make_shared<nn::MultiHeadAttention>(options.layers.attention(features)));
    latent_ = register_module("latent", std::make_shared<LatentAttention>(options.layers));
  }

  Tensor forward(const Sequences& y, const Tensor& z) const {
    return latent_->forward(attend(y), latent_->project(z));  // [B, T, H]  eq. 15-20
  }

  Tensor weights(const Sequences& y, const Tensor& z) const { return latent_->weights(attend(y), z); }

  /// Keys and values of the words so far, none yet, and those of z.
  nn::DecoderState start(const Tensor& z) const {
    const nn::KeysValues latent = latent_->project(z);  // [B, heads, rows, H / heads]
    const Tensor nothing = latent.keys.slice(2, 0, 0);  // [B, heads, 0, H / heads]
    return {nothing, nothing, latent.keys, latent.values};
  }

  /// y [B, E] -> [B, H]
  std::pair<Tensor, nn::DecoderState> step(const Tensor& y, const nn::DecoderState& state) const {
    const Tensor x = input(y.unsqueeze(1), state[0].size(2));  // [B, 1, E]
    const nn::KeysValues now = attention_->project(x, x);
    const nn::KeysValues words{at::cat({state[0], now.keys}, 2), at::cat({state[1], now.values}, 2)};
    const Tensor h = latent_->forward(attention_->attend(x, words), {state[2], state[3]});  // [B, 1, H]
    return {h.squeeze(1), {words.keys, words.values, state[2], state[3]}};
  }

 private:
  Tensor input(const Tensor& y, std::int64_t begin) const {
    return options_.layers.drop_input(y + positions_->forward(y, begin), nn::trains(*this));
  }

  /// Words after a sentence's last one hide behind it already: what is causal needs no mask.
  Tensor attend(const Sequences& y) const {
    const Tensor x = input(y.x, 0);                            // [B, T, E]
    return attention_->forward(x, x, x, {}, /*causal=*/true);  // [B, T, H]  eq. 15
  }

  MeanMaxOptions options_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<LatentAttention> latent_;
};

MeanMaxNetwork::MeanMaxNetwork(const AutoencoderOptions& words, const MeanMaxOptions& options)
    : Autoencoder("MeanMaxNetwork", words, nn::pooling_width(options.pooling) * options.layers.hidden,
                  options.layers.hidden),
      options_(options) {
  options.layers.check();
  encoder_ = register_module("encoder", std::make_shared<MeanMaxEncoder>(words.features, options));
  decoder_ = register_module("decoder", std::make_shared<MeanMaxDecoder>(words.features, options));
}

Tensor MeanMaxNetwork::rows(const Tensor& z) const {
  check_code(z);
  return z.unflatten(1, {-1, options_.layers.hidden});  // [B, rows, H]
}

Tensor MeanMaxNetwork::encode(const Sequences& sentences) { return encoder_->forward(sentences); }

Tensor MeanMaxNetwork::decode(const Tensor& z, const Sequences& y) { return decoder_->forward(y, rows(z)); }

nn::DecoderState MeanMaxNetwork::start(const nn::DecoderState& memory) {
  return decoder_->start(rows(memory.at(0)));
}

std::pair<Tensor, nn::DecoderState> MeanMaxNetwork::step(const Tensor& ids, const nn::DecoderState& state) {
  auto [h, next] = decoder_->step(vectors(ids), state);
  return {logits(h), std::move(next)};  // eq. 21
}

Tensor MeanMaxNetwork::attention(const Sequences& sentences) {
  return decoder_->weights(words_before(sentences), rows(encode(sentences)));  // [B, heads, T, rows]
}

std::string MeanMaxNetwork::config() const { return config_of("MeanMaxNetwork", options(), options_); }

}  // namespace sentencode::models
