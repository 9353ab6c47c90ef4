#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "nn/word_order.h"
#include "sentencode/nn/conditional_gru.h"

namespace sentencode::nn {

/// What ConditionalGRU has: of both transitions the weights as LibTorch's functions want them (W_ih, W_hh,
/// b_ih, b_hh), and those of the attention's query [A, H] and score [1, A], undefined where there is none.
struct ConditionalWeights {
  std::vector<at::Tensor> word, context;
  at::Tensor query, score;
};

/// Whether the functions below can do it: all is float on the CPU, or all double.
bool fits_conditional_gru(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                          const ConditionalWeights& weights);

/// ConditionalGRU::forward as one node with a gradient of its own, on the words of all sentences: threads go
/// over sentences of their own, and products that need no state, as those of weights' gradients, are of all
/// words at once. What is kept for backward is a few rows of each word; what the tanh of a word and a place
/// was is computed again. It cannot be differentiated twice.
///   x [N, E], rows of `order`; state [B, H]; memory of `project` -> [N, H], [N, D], [N, S]; without
///   attention only the first
ConditionalStates conditional_gru(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                                  const at::Tensor& memory_mask,
                                  const std::shared_ptr<const WordOrder>& order,
                                  const ConditionalWeights& weights);

/// ConditionalGRU::step without gradients: each thread goes over hypotheses of its own.
ConditionalStates conditional_gru_step(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                                       const at::Tensor& memory_mask, const ConditionalWeights& weights);

}  // namespace sentencode::nn
