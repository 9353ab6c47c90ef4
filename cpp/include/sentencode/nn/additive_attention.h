#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "sentencode/nn/attention.h"
#include "sentencode/nn/linear.h"

namespace sentencode::nn {

struct AdditiveAttentionOptions {
  std::int64_t query_features = 0;   // Dq
  std::int64_t memory_features = 0;  // Dm, of keys and values, which are the same vectors
  std::int64_t features = 0;         // A, of what queries and keys are projected to
  bool bias = true;                  // of the keys' projection
};

/// Attention whose scores are v^T tanh(W q + U k + b): Bahdanau, Cho and Bengio, 2015. A key that is masked
/// has no weight; where all are, context and weights are zero.
class AdditiveAttention : public torch::nn::Module {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options);

  /// query [B, T, Dq], memory [B, S, Dm], key_mask [B, S] bool or undefined -> context [B, T, Dm], weights
  /// [B, T, S].
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& query, const at::Tensor& memory,
                                            const at::Tensor& key_mask = {}) const;

  /// forward in two halves. Keys are [B, S, A]; values [B, S, Dm], the memory itself, zero where it is
  /// masked. Queries may be [N, T, Dq], N = B times how many hypotheses a sentence has, which stand together:
  /// they attend to one memory, which is not copied for each.  -> [N, T, Dm], [N, T, S]
  KeysValues project(const at::Tensor& memory, const at::Tensor& key_mask = {}) const;
  std::pair<at::Tensor, at::Tensor> attend(const at::Tensor& query, const KeysValues& memory,
                                           const at::Tensor& key_mask = {}) const;

  /// Whether so many queries can attend to it; else an error that says why not.
  void check_memory(const KeysValues& memory, const at::Tensor& key_mask, std::int64_t queries) const;

  const at::Tensor& query_weight() const;  // W [A, Dq]
  const at::Tensor& score_weight() const;  // v [1, A]

  void pretty_print(std::ostream& out) const override;

 private:
  AdditiveAttentionOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> query_, key_, score_;
};

}  // namespace sentencode::nn
