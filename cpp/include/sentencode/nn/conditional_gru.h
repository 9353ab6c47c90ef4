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
  std::int64_t attention = 0;  // A, of what queries and keys are projected to; 0: there is no attention,
                               // and the memory's one place is what each word sees
};

struct ConditionalWeights;

struct ConditionalStates {
  at::Tensor states;    // [B, T, H], after each word; of a step [N, H]
  at::Tensor contexts;  // [B, T, D], what was looked at; of a step [N, D]
  at::Tensor weights;   // [B, T, S], how much of each place; of a step [N, S]
};

/// The recurrent decoder of Nematus (Sennrich et al., 2017): of the word before and the state before, a GRU
/// makes a state s'; s' is what an additive attention looks at the memory with; of s' and of what it sees,
/// a second GRU makes the next state. Without attention s' is not asked what to look at: a constant context
/// (paper 003, section 3.2).
class ConditionalGRU : public torch::nn::Module {
 public:
  explicit ConditionalGRU(const ConditionalGRUOptions& options);

  /// x [B, T, E], state [B, H], memory [B, S, D], memory_mask [B, S] bool or undefined for all; lengths [B]
  /// int64, of words at the left, or undefined for T: where there is no word, all is zero.
  ConditionalStates forward(const at::Tensor& x, const at::Tensor& state, const at::Tensor& memory,
                            const at::Tensor& memory_mask = {}, const at::Tensor& lengths = {}) const;

  /// What a decoder has in its memory beside the mask: keys [B, S, A], values [B, S, D].
  KeysValues project(const at::Tensor& memory, const at::Tensor& memory_mask = {}) const;

  /// One word further, by the same weights. x [N, E], state [N, H]: N is B times how many hypotheses a
  /// sentence has, which stand together.
  ConditionalStates step(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                         const at::Tensor& memory_mask = {}) const;

  void pretty_print(std::ostream& out) const override;

 private:
  ConditionalGRUOptions options_;
  std::shared_ptr<RecurrentStack> word_;          // the first transition
  std::shared_ptr<AdditiveAttention> attention_;  // null where there is none
  std::shared_ptr<RecurrentStack> context_;       // the second

  ConditionalWeights weights() const;
  /// Whether so many rows can look at it; else an error that says why not.
  void check_memory(const KeysValues& memory, const at::Tensor& memory_mask, std::int64_t rows) const;
  /// What query [N, H] sees, and how much of each place.  [N, D], [N, S]
  std::pair<at::Tensor, at::Tensor> look(const at::Tensor& query, const KeysValues& memory,
                                         const at::Tensor& memory_mask) const;
};

}  // namespace sentencode::nn
