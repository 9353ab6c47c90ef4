// Recurrent layers on the CPU, over the words of all sentences, with gradients where they are wanted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/word_order.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::nn {

/// Whether `recurrent_layer` can go over it: float or double on the CPU, without autocast.
bool has_layer(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// One layer: x [N, D], begin [B, dirs, H] each, weights as LibTorch's functions want them -> output
/// [N, dirs H], and the states of the end, like `begin`. Products with W are of all words at once; only those
/// of h are of one step. For backward the gates are kept, and an LSTM's cells. It cannot be differentiated
/// twice.
RecurrentOutput recurrent_layer(Cell cell, const at::Tensor& x, const RecurrentState& begin,
                                const std::shared_ptr<const WordOrder>& order,
                                const std::vector<at::Tensor>& weights);

}  // namespace sentencode::nn
