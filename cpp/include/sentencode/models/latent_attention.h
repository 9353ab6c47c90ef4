#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "sentencode/models/options.h"
#include "sentencode/nn/add_norm.h"
#include "sentencode/nn/attention.h"

namespace sentencode::models {

/// Where dropout falls beside a network's input: on the weights of attention (paper 000's public code), or on
/// what each sub-layer gives, before residual and norm (Vaswani et al. 2017, whose layers these are). The
/// paper names the rate alone.
enum class DropoutPlace { weights, sublayers };

void parse(std::string_view name, DropoutPlace& choice);  // InvalidInput names the choices
std::string_view name_of(DropoutPlace choice);

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

  void check() const;  // InvalidInput that names the member
  at::Tensor drop_input(const at::Tensor& x, bool training) const;
  nn::AttentionOptions attention(std::int64_t features) const;  // features -> hidden
  std::shared_ptr<nn::AddNorm> add_norm() const;                // the end of a sub-layer
};

template <OptionsOf<LayerOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("hidden", of.hidden);
  visit("inner", of.inner);
  visit("heads", of.heads);
  visit("dropout", of.dropout);
  visit("dropout_place", of.dropout_place);
  visit("projection", of.projection);
  visit("projection_bias", of.projection_bias);
  visit("output_projection", of.output_projection);
  visit("epsilon", of.epsilon);
}

/// The decoder of section 3.5 after its first layer: attention over the latent rows z, with residuals.
/// eq. 16-20
class LatentAttention : public torch::nn::Module {
 public:
  explicit LatentAttention(const LayerOptions& options);

  nn::KeysValues project(const at::Tensor& z) const;  // [B, rows, H]
  /// What the first layer gives [B, T, H] -> [B, T, H]. Of a step: [N, 1, H], N words of B sentences.
  at::Tensor forward(const at::Tensor& a, const nn::KeysValues& z) const;
  /// How much each step attends to each row: what Figure 2 shows.  -> [B, heads, T, rows]
  at::Tensor weights(const at::Tensor& a, const at::Tensor& z) const;

 private:
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
  std::shared_ptr<nn::AddNorm> norm_a_, norm_z_, norm_h_;
};

}  // namespace sentencode::models
