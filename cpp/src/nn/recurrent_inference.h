#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "sentencode/nn/recurrent.h"

namespace sentencode::nn {

/// Whether `infer_layer` can do it: no gradients are wanted, and all is float on the CPU.
bool infers(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// One recurrent layer without gradients. Each direction of each part of the sentences goes by itself, on one
/// thread: its input products are one, then come its words one after the other, of those sentences that have
/// so many.
///   x [B, T, D], lengths [B] int64 on the CPU or undefined for T, begin [B, dirs, H] each, weights as
///   LibTorch's functions want them -> output [B, T, dirs H], zero where there is no word; state [B, dirs, H]
RecurrentOutput infer_layer(Cell cell, const at::Tensor& x, const at::Tensor& lengths,
                            const RecurrentState& begin, const std::vector<at::Tensor>& weights);

}  // namespace sentencode::nn
