#include "sentencode/models/mean_max.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <string>
#include <utility>

#include "sentencode/nn/embedding.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

namespace {

std::shared_ptr<nn::Positions> position_encodings(const MeanMaxOptions& options) {
  return std::make_shared<nn::Positions>(options.words.features, options.positions, options.places,
                                         nn::Beyond::clamp);
}

}  // namespace

/// Sections 3.3 and 3.4.
class MeanMaxEncoder : public torch::nn::Module {
 public:
  explicit MeanMaxEncoder(const MeanMaxOptions& options)
      : torch::nn::Module("MeanMaxEncoder"), options_(options) {
    const LayerOptions& layers = options.layers;
    const std::int64_t features = options.words.features;
    positions_ = register_module("positions", position_encodings(options));
    attention_ =
        register_module("attention", std::make_shared<nn::MultiHeadAttention>(layers.attention(features)));
    norm_a_ = register_module("norm_a", layers.add_norm());
    feed_forward_ =
        register_module("feed_forward", std::make_shared<nn::FeedForward>(layers.hidden, layers.inner));
    norm_h_ = register_module("norm_h", layers.add_norm());
  }

  Tensor forward(const Sequences& s) const {
    const Tensor x = input(s.x);  // [B, T, E]  eq. 1, 2; padded positions have arbitrary values
    // No residual: H may be wider than E.
    const Tensor a = norm_a_->forward(
        attention_->attend(x, attention_->project(x, x), s.key_mask()));  // [B, T, H]  eq. 8, 9
    const Tensor h = norm_h_->forward(feed_forward_->forward(a), a);      // [B, T, H]  eq. 10, 11
    return nn::masked_pooling(h, s.key_mask(), options_.pooling);         // [B, dim]   eq. 12-14
  }

 private:
  Tensor input(const Tensor& e) const {
    return options_.layers.drop_input(e + positions_->forward(e), nn::trains(*this));
  }

  MeanMaxOptions options_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
  std::shared_ptr<nn::AddNorm> norm_a_, norm_h_;
};

/// Section 3.5.
class MeanMaxDecoder : public torch::nn::Module {
 public:
  explicit MeanMaxDecoder(const MeanMaxOptions& options)
      : torch::nn::Module("MeanMaxDecoder"), options_(options) {
    const std::int64_t features = options.words.features;
    positions_ = register_module("positions", position_encodings(options));
    attention_ = register_module(
        "attention", std::make_shared<nn::MultiHeadAttention>(options.layers.attention(features)));
    latent_ = register_module("latent", std::make_shared<LatentAttention>(options.layers));
  }

  Tensor forward(const Sequences& y, const Tensor& z) const {
    return latent_->forward(attend(y), latent_->project(z));  // [B, T, H]  eq. 15-20
  }

  Tensor weights(const Sequences& y, const Tensor& z) const { return latent_->weights(attend(y), z); }

  /// Memory: keys and values of z; cache: those of the previous words, none yet.
  nn::DecoderStart start(const Tensor& z) const {
    const nn::KeysValues latent = latent_->project(z);  // [B, heads, rows, H / heads]
    const Tensor empty = latent.keys.slice(2, 0, 0);    // [B, heads, 0, H / heads]
    return {{latent.keys, latent.values}, {empty, empty}};
  }

  /// y [N, E] -> [N, H]
  std::pair<Tensor, nn::DecoderCache> step(const Tensor& y, const nn::DecoderMemory& z,
                                           const nn::DecoderCache& before) const {
    const Tensor x = input(y.unsqueeze(1), before[0].size(2));  // [N, 1, E]
    const nn::KeysValues now = attention_->project(x, x);
    const nn::KeysValues words{at::cat({before[0], now.keys}, 2), at::cat({before[1], now.values}, 2)};
    const Tensor h = latent_->forward(attention_->attend(x, words), {z[0], z[1]});  // [N, 1, H]
    return {h.squeeze(1), {words.keys, words.values}};
  }

 private:
  Tensor input(const Tensor& y, std::int64_t begin) const {
    return options_.layers.drop_input(y + positions_->forward(y, begin), nn::trains(*this));
  }

  /// Causal attention needs no mask: no word attends to the padding after it.
  Tensor attend(const Sequences& y) const {
    const Tensor x = input(y.x, 0);                            // [B, T, E]
    return attention_->forward(x, x, x, {}, /*causal=*/true);  // [B, T, H]  eq. 15
  }

  MeanMaxOptions options_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<LatentAttention> latent_;
};

MeanMaxNetwork::MeanMaxNetwork(const MeanMaxOptions& options)
    : LatentAutoencoder("MeanMaxNetwork", checked(options).words,
                        nn::pooling_width(options.pooling) * options.layers.hidden, options.layers.hidden),
      options_(options) {
  options.layers.check();
  encoder_ = register_module("encoder", std::make_shared<MeanMaxEncoder>(options));
  decoder_ = register_module("decoder", std::make_shared<MeanMaxDecoder>(options));
}

Tensor MeanMaxNetwork::rows(const Tensor& z) const {
  check_code(z);
  return z.unflatten(1, {-1, options_.layers.hidden});  // [B, rows, H]
}

Tensor MeanMaxNetwork::encode(const Sequences& sentences) { return encoder_->forward(sentences); }

Tensor MeanMaxNetwork::decode(const Tensor& z, const Sequences& y) { return decoder_->forward(y, rows(z)); }

nn::DecoderStart MeanMaxNetwork::start(const nn::DecoderMemory& memory) {
  return decoder_->start(rows(memory.at(0)));
}

nn::DecoderStep MeanMaxNetwork::step(const Tensor& ids, const nn::DecoderMemory& memory,
                                     const nn::DecoderCache& cache) {
  auto [h, next] = decoder_->step(writer().vectors(ids), memory, cache);
  return {writer().logits(h), std::move(next)};  // eq. 21
}

Tensor MeanMaxNetwork::attention(const Sequences& sentences) {
  return decoder_->weights(writer().before(sentences), rows(encode(sentences)));  // [B, heads, T, rows]
}

}  // namespace sentencode::models
