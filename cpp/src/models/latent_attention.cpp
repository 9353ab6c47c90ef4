#include "sentencode/models/latent_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/normalization.h>

#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

DropoutPlace parse_dropout_place(std::string_view name) {
  if (name == "weights") return DropoutPlace::weights;
  if (name == "sublayers") return DropoutPlace::sublayers;
  throw InvalidInput(concat("dropout_place must be 'weights' or 'sublayers', got '", name, "'"));
}

void LayerOptions::check() const {
  ST_CHECK(hidden >= 1 && inner >= 1 && heads >= 1 && hidden % heads == 0, InvalidInput,
           "hidden must be a multiple of heads, and inner at least 1; got hidden ", hidden, ", heads ", heads,
           " and inner ", inner);
  ST_CHECK(dropout >= 0 && dropout < 1, InvalidInput, "dropout must be at least 0 and less than 1, got ",
           dropout);
}

double LayerOptions::weight_dropout() const { return dropout_place == DropoutPlace::weights ? dropout : 0; }

Tensor LayerOptions::drop_input(const Tensor& x, bool training) const {
  return at::dropout(x, dropout, training);
}

Tensor LayerOptions::drop_output(const Tensor& x, bool training) const {
  return at::dropout(x, dropout - weight_dropout(), training);
}

nn::AttentionOptions LayerOptions::attention(std::int64_t features) const {
  return {.query_features = features,
          .memory_features = features,
          .features = hidden,
          .heads = heads,
          .activation = projection,
          .output_projection = output_projection,
          .bias = projection_bias,
          .dropout = weight_dropout()};
}

LatentAttention::LatentAttention(const LayerOptions& options)
    : torch::nn::Module("LatentAttention"), options_(options) {
  options_.check();
  const std::int64_t hidden = options.hidden;
  norm_a_ = register_module("norm_a", nn::layer_norm(hidden, options.epsilon));
  attention_ =
      register_module("attention", std::make_shared<nn::MultiHeadAttention>(options.attention(hidden)));
  norm_z_ = register_module("norm_z", nn::layer_norm(hidden, options.epsilon));
  feed_forward_ = register_module("feed_forward", std::make_shared<nn::FeedForward>(hidden, options.inner));
  norm_h_ = register_module("norm_h", nn::layer_norm(hidden, options.epsilon));
}

nn::KeysValues LatentAttention::project(const Tensor& z) const { return attention_->project(z, z); }

Tensor LatentAttention::normed(const Tensor& a) const {
  return norm_a_->forward(options_.drop_output(a, nn::trains(*this)));  // eq. 16
}

Tensor LatentAttention::forward(const Tensor& given, const nn::KeysValues& z) const {
  const auto drop = [&](const Tensor& x) { return options_.drop_output(x, nn::trains(*this)); };
  const Tensor a = normed(given);                                            // [B, T, H]  eq. 16
  const Tensor az = norm_z_->forward(drop(attention_->attend(a, z)) + a);    // [B, T, H]  eq. 17, 18
  const Tensor h = norm_h_->forward(drop(feed_forward_->forward(az)) + az);  // [B, T, H]  eq. 19, 20
  return h;
}

Tensor LatentAttention::weights(const Tensor& a, const Tensor& z) const {
  return attention_->with_weights(normed(a), z, z).second;  // [B, heads, T, rows]
}

}  // namespace sentencode::models
