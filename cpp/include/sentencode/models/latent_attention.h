#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "sentencode/models/options.h"
#include "sentencode/nn/add_norm.h"
#include "sentencode/nn/attention.h"

namespace sentencode::models {

/// Where dropout is applied besides the network's input: to attention weights (paper 000's public code), or
/// to the output of each sub-layer before residual and norm (Vaswani et al. 2017, whose layers these are).
/// The paper gives only the probability.
enum class DropoutPlace { weights, sublayers };

constexpr EnumNames<2> enum_names(DropoutPlace) { return {"dropout_place", {"weights", "sublayers"}}; }

/// Options of the layers of paper 000.
struct LayerOptions {
  std::int64_t hidden = 512;  // d_m
  std::int64_t inner = 1024;  // d_f
  std::int64_t heads = 8;     // l
  double dropout = 0.1;
  DropoutPlace dropout_place = DropoutPlace::weights;
  nn::Activation projection = nn::Activation::none;
  bool projection_bias = false;
  bool output_projection = false;
  double epsilon = 1e-5;

  void check() const;  // InvalidInput if hidden is no multiple of heads
  at::Tensor drop_input(const at::Tensor& x, bool training) const;
  nn::AttentionOptions attention(std::int64_t features) const;  // features -> hidden
  std::shared_ptr<nn::AddNorm> add_norm() const;
};

template <OptionsOf<LayerOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("hidden", of.hidden, at_least(1, "Dimensions of each pooled vector, a multiple of `heads`."));
  visit("inner", of.inner, at_least(1, "Units of the feed-forward layers."));
  visit("heads", of.heads, at_least(1, "Heads of every attention."));
  visit("dropout", of.dropout, dropout_probability("Dropout probability."));
  visit(
      "dropout_place", of.dropout_place,
      {"Where dropout is applied besides the input (open in the paper): to attention \"weights\", as in the "
       "public code, or to the outputs of \"sublayers\", as in Vaswani et al. (2017)."});
  visit("projection", of.projection,
        {"Activation of queries, keys and values: \"none\", or \"relu\" as in the public code."});
  visit("projection_bias", of.projection_bias,
        {"Adds biases to queries, keys and values, as in the public code; eq. 7 has none."});
  visit("output_projection", of.output_projection,
        {"Adds an output projection after the heads, which neither the paper nor its code has."});
  visit("epsilon", of.epsilon,
        at_least(0, "Epsilon of layer norms (open in the paper); 1e-8 in the public code."));
}

/// The decoder of section 3.5 after its first layer: attention over the pooled vectors z, with residuals.
/// eq. 16-20
class LatentAttention : public torch::nn::Module {
 public:
  explicit LatentAttention(const LayerOptions& options);

  nn::KeysValues project(const at::Tensor& z) const;  // [B, rows, H]
  /// a: output of the first layer, [B, T, H] -> [B, T, H]; in a decoding step [N, 1, H].
  at::Tensor forward(const at::Tensor& a, const nn::KeysValues& z) const;
  /// Attention weights of each step over the pooled vectors, as in Figure 2.  -> [B, heads, T, rows]
  at::Tensor weights(const at::Tensor& a, const at::Tensor& z) const;

 private:
  std::shared_ptr<nn::MultiHeadAttention> attention_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
  std::shared_ptr<nn::AddNorm> norm_a_, norm_z_, norm_h_;
};

}  // namespace sentencode::models
