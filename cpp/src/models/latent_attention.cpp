#include "sentencode/models/latent_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "sentencode/error.h"

namespace sentencode::models {

using at::Tensor;

void LayerOptions::check() const {
  ST_CHECK(hidden % heads == 0, InvalidInput, "hidden must be a multiple of heads, got ", hidden, " and ",
           heads);
}

Tensor LayerOptions::drop_input(const Tensor& x, bool training) const {
  return at::dropout(x, dropout, training);
}

nn::AttentionOptions LayerOptions::attention(std::int64_t features) const {
  return {.query_features = features,
          .memory_features = features,
          .features = hidden,
          .heads = heads,
          .activation = projection,
          .output_projection = output_projection,
          .bias = projection_bias,
          .dropout = dropout_place == DropoutPlace::weights ? dropout : 0};
}

std::shared_ptr<nn::AddNorm> LayerOptions::add_norm() const {
  return std::make_shared<nn::AddNorm>(hidden, epsilon,
                                       dropout_place == DropoutPlace::sublayers ? dropout : 0);
}

LatentAttention::LatentAttention(const LayerOptions& options) : torch::nn::Module("LatentAttention") {
  checked(options).check();
  norm_a_ = register_module("norm_a", options.add_norm());
  attention_ = register_module("attention",
                               std::make_shared<nn::MultiHeadAttention>(options.attention(options.hidden)));
  norm_z_ = register_module("norm_z", options.add_norm());
  feed_forward_ =
      register_module("feed_forward", std::make_shared<nn::FeedForward>(options.hidden, options.inner));
  norm_h_ = register_module("norm_h", options.add_norm());
}

nn::KeysValues LatentAttention::project(const Tensor& z) const { return attention_->project(z, z); }

Tensor LatentAttention::forward(const Tensor& x, const nn::KeysValues& z) const {
  // The hypotheses of a sentence attend to one z, as if they were words of one sentence.
  const Tensor words = x.reshape({z.keys.size(0), -1, x.size(2)});             // [B, T, H]
  const Tensor a = norm_a_->forward(words);                                    // [B, T, H]  eq. 16
  const Tensor az = norm_z_->forward(attention_->attend(a, z), a);             // [B, T, H]  eq. 17, 18
  return norm_h_->forward(feed_forward_->forward(az), az).reshape(x.sizes());  // [B, T, H]  eq. 19, 20
}

Tensor LatentAttention::weights(const Tensor& a, const Tensor& z) const {
  return attention_->with_weights(norm_a_->forward(a), z, z).second;  // [B, heads, T, rows]
}

}  // namespace sentencode::models
