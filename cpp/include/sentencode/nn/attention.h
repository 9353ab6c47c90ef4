#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

struct AttentionOptions {
  std::int64_t query_features = 0;   // Dq
  std::int64_t memory_features = 0;  // Dm, of keys and values
  std::int64_t features = 0;         // H, a multiple of heads
  std::int64_t heads = 8;
  Activation activation = Activation::none;  // of the projections of Q, K and V
  bool output_projection = true;             // H -> H, of the concatenated heads
  bool bias = true;
  double dropout = 0;  // of the attention weights
  double scale = 0;    // of Q K^T; 0: 1 / sqrt(H / heads)
};

/// Projected keys and values, which a decoder reuses in every step. The batch is the first dimension.
struct KeysValues {
  at::Tensor keys;    // [B, heads, S, H / heads]; additive attention: [B, S, A]
  at::Tensor values;  // [B, heads, S, H / heads]; additive attention: [B, S, Dm]
};

/// Multi-head attention, softmax(Q K^T scale) V (Vaswani et al., 2017). Masked keys have weight 0; if all
/// keys are masked, the heads are 0.
class MultiHeadAttention : public torch::nn::Module {
 public:
  explicit MultiHeadAttention(const AttentionOptions& options);

  /// query [B, T, Dq], key and value [B, S, Dm], key_mask [B, S] bool or undefined -> [B, T, H]. If causal,
  /// the query at t attends to keys up to t, and T must be S.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const at::Tensor& key_mask = {}, bool causal = false) const;

  /// The same, and the weights before dropout  [B, heads, T, S].
  std::pair<at::Tensor, at::Tensor> with_weights(const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& value, const at::Tensor& key_mask = {},
                                                 bool causal = false) const;

  /// The two halves of forward.
  KeysValues project(const at::Tensor& key, const at::Tensor& value, const at::Tensor& key_mask = {}) const;
  at::Tensor attend(const at::Tensor& query, const KeysValues& memory, const at::Tensor& key_mask = {},
                    bool causal = false) const;

  void pretty_print(std::ostream& out) const override;

 private:
  at::Tensor split(const at::Tensor& projected) const;  // [B, T, H] -> [B, heads, T, H / heads]
  at::Tensor join(const at::Tensor& heads) const;       // the inverse, and the output projection
  at::Tensor project_query(const at::Tensor& query, const KeysValues& memory) const;

  AttentionOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> query_, key_, value_, output_;
};

/// W2 f(W1 x + b1) + b2 at each position. [..., D] -> [..., D]
class FeedForward : public torch::nn::Module {
 public:
  FeedForward(std::int64_t features, std::int64_t hidden, Activation activation = Activation::relu,
              double dropout = 0);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  Activation activation_;
  double dropout_;  // of the hidden units
  std::shared_ptr<torch::nn::LinearImpl> inner_, outer_;
};

}  // namespace sentencode::nn
