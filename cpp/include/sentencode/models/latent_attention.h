#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "sentencode/nn/attention.h"

namespace torch::nn {
class LayerNormImpl;
}

namespace sentencode::models {

/// Where dropout falls beside a network's input: on the weights of attention (paper 000's public code), or on
/// what each sub-layer gives, before residual and norm (Vaswani et al. 2017, whose layers these are). The
/// paper names the rate alone.
enum class DropoutPlace { weights, sublayers };

DropoutPlace parse_dropout_place(std::string_view name);  // InvalidInput names the choices

/// What the layers of paper 000 are made with.
struct LayerOptions {
  std::int64_t hidden = 2048;  // d_m
  std::int64_t inner = 4096;   // d_f
  std::int64_t heads = 8;      // l
  double dropout = 0.5;
  DropoutPlace dropout_place = DropoutPlace::weights;
  nn::Activation projection = nn::Activation::none;  // of Q, K and V; the public code's is relu
  bool projection_bias = false;                      // eq. 7 has none, the public code has
  bool output_projection = false;                    // eq. 4 has none
  double epsilon = 1e-5;                             // of layer norm; the public code's is 1e-8

  void check() const;             // InvalidInput that names the member
  double weight_dropout() const;  // what attention is to drop of its weights
  at::Tensor drop_input(const at::Tensor& x, bool training) const;
  at::Tensor drop_output(const at::Tensor& x, bool training) const;  // of a sub-layer
  nn::AttentionOptions attention(std::int64_t features) const;       // features -> hidden
};

/// The decoder of section 3.5 after its first layer: attention over the latent rows z, with residuals.
class LatentAttention : public torch::nn::Module {
 public:
  explicit LatentAttention(const LayerOptions& options);

  nn::KeysValues project(const at::Tensor& z) const;  // [B, rows, H]
  /// What the first layer gives [B, T, H], and z -> [B, T, H]
  at::Tensor forward(const at::Tensor& a, const nn::KeysValues& z) const;
  /// How much each step attends to each row: what Figure 2 shows.  -> [B, heads, T, rows]
  at::Tensor weights(const at::Tensor& a, const at::Tensor& z) const;

 private:
  at::Tensor normed(const at::Tensor& a) const;  // eq. 16

  LayerOptions options_;
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
  std::shared_ptr<torch::nn::LayerNormImpl> norm_a_, norm_z_, norm_h_;
};

}  // namespace sentencode::models
