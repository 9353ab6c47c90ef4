#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/nn/conditional_gru.h"

namespace sentencode::nn {

/// What ConditionalGRU has: of both transitions the weights as LibTorch's functions want them (W_ih, W_hh,
/// b_ih, b_hh), and those of the attention's query [A, H] and score [1, A], undefined where there is none.
struct ConditionalWeights {
  std::vector<at::Tensor> word, context;
  at::Tensor query, score;
};

/// Whether `conditional_gru` can do it: all is float on the CPU, or all double.
bool fits_conditional_gru(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                          const ConditionalWeights& weights);

/// ConditionalGRU::forward as one node with a gradient of its own. Products that need no state are made at
/// once; the others by threads that go over sentences of their own. What is kept for backward is a few rows
/// for each word, and nothing for each pair of words.
///   x [B, T, E]; state [B, H]; memory of `project`; lengths [B] int64 or undefined, as in forward
ConditionalStates conditional_gru(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                                  const at::Tensor& memory_mask, const at::Tensor& lengths,
                                  const ConditionalWeights& weights);

/// ConditionalGRU::step without gradients: each thread goes over hypotheses of its own.
ConditionalStates conditional_gru_step(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                                       const at::Tensor& memory_mask, const ConditionalWeights& weights);

}  // namespace sentencode::nn
