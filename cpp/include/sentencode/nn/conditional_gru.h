#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "sentencode/nn/additive_attention.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::nn {

struct ConditionalGRUOptions {
  std::int64_t features = 0;         // E, of words
  std::int64_t hidden = 0;           // H
  std::int64_t memory_features = 0;  // D
  std::int64_t attention = 0;  // A, of projected queries and keys; 0: no attention, and the memory's only
                               // position is the context of each word
};

struct ConditionalWeights;

struct ConditionalStates {
  at::Tensor states;    // [B, T, H], after each word; of a step [N, H]
  at::Tensor contexts;  // [B, T, D]; of a step [N, D]
  at::Tensor weights;   // [B, T, S], of the attention; of a step [N, S]
};

/// The conditional GRU of Nematus (Sennrich et al., 2017). For each word x_t:
///   s'_t = GRU(x_t, s_(t-1)), c_t = attention(s'_t, memory), s_t = GRU(c_t, s'_t)
/// Without attention the context c is constant (paper 003, section 3.2).
class ConditionalGRU : public torch::nn::Module {
 public:
  explicit ConditionalGRU(const ConditionalGRUOptions& options);

  /// x [B, T, E], initial state [B, H], memory [B, S, D], memory_mask [B, S] bool or undefined; lengths [B]
  /// int64, or undefined for T. Outputs are zero at padding.
  ConditionalStates forward(const at::Tensor& x, const at::Tensor& state, const at::Tensor& memory,
                            const at::Tensor& memory_mask = {}, const at::Tensor& lengths = {}) const;

  /// The projected memory for `step`: keys [B, S, A], values [B, S, D].
  KeysValues project(const at::Tensor& memory, const at::Tensor& memory_mask = {}) const;

  /// The next word. x [N, E], state [N, H], where N is a multiple of B: the hypotheses of a sentence are
  /// adjacent.
  ConditionalStates step(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                         const at::Tensor& memory_mask = {}) const;

  void pretty_print(std::ostream& out) const override;

 private:
  ConditionalGRUOptions options_;
  std::shared_ptr<RecurrentStack> word_;          // the first GRU
  std::shared_ptr<AdditiveAttention> attention_;  // or null
  std::shared_ptr<RecurrentStack> context_;       // the second GRU

  ConditionalWeights weights() const;
  /// ValueError unless `rows` hypotheses can attend to the memory.
  void check_memory(const KeysValues& memory, const at::Tensor& memory_mask, std::int64_t rows) const;
  /// query [N, H] -> context [N, D], weights [N, S]
  std::pair<at::Tensor, at::Tensor> attend(const at::Tensor& query, const KeysValues& memory,
                                           const at::Tensor& memory_mask) const;
};

}  // namespace sentencode::nn
