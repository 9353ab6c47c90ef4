#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "sentencode/nn/recurrent.h"

namespace sentencode::nn {

/// Whether `gru_layer` can do it: all is float on the CPU, or all double.
bool fits_gru_layer(const at::Tensor& x, const at::Tensor& begin, const std::vector<at::Tensor>& weights);

/// One layer of GRUs as one node with a gradient of its own. Each direction of each part of the sentences
/// goes by itself, on one thread; products that need no state are made at once, padding is in none.
///   x [B, T, D], lengths [B] int64 or undefined for T, begin {[B, dirs, H]}, weights as LibTorch's functions
///   want them -> output [B, T, dirs H], zero where there is no word; state {[B, dirs, H]}
RecurrentOutput gru_layer(const at::Tensor& x, const at::Tensor& lengths, const RecurrentState& begin,
                          const std::vector<at::Tensor>& weights);

}  // namespace sentencode::nn
