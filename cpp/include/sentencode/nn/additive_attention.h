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
  std::int64_t memory_features = 0;  // Dm, of the memory, which provides keys and values
  std::int64_t features = 0;         // A, of projected queries and keys
  bool bias = true;                  // b
};

/// Attention with the scores v^T tanh(W q + U k + b) (Bahdanau, Cho and Bengio, 2015). Masked keys have
/// weight 0; if all keys are masked, context and weights are 0.
class AdditiveAttention : public torch::nn::Module {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options);

  /// query [B, T, Dq], memory [B, S, Dm], key_mask [B, S] bool or undefined
  ///   -> context [B, T, Dm], weights [B, T, S]
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& query, const at::Tensor& memory,
                                            const at::Tensor& key_mask = {}) const;

  /// The first half of forward: keys [B, S, A]; values [B, S, Dm], the memory with zeros where it is masked.
  KeysValues project(const at::Tensor& memory, const at::Tensor& key_mask = {}) const;
  /// The second half. query [N, T, Dq], where N is a multiple of B: the hypotheses of a sentence are adjacent
  /// and share its memory.  -> [N, T, Dm], [N, T, S]
  std::pair<at::Tensor, at::Tensor> attend(const at::Tensor& query, const KeysValues& memory,
                                           const at::Tensor& key_mask = {}) const;

  /// ValueError unless `queries` rows can attend to the memory.
  void check_memory(const KeysValues& memory, const at::Tensor& key_mask, std::int64_t queries) const;

  const at::Tensor& query_weight() const;  // W [A, Dq]
  const at::Tensor& score_weight() const;  // v [1, A]

  void pretty_print(std::ostream& out) const override;

 private:
  AdditiveAttentionOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> query_, key_, score_;
};

}  // namespace sentencode::nn
