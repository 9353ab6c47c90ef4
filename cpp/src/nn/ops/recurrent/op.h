// One layer of a GRU or an LSTM on CPUs, over packed sentences, with a gradient.
//
// op.cpp has the checks, autograd.cpp the gradient, cpu.cpp the passes over the words, kernels.cpp one step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/packed_order.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::nn {

/// Whether recurrent_layer supports these tensors: all float or all double on the CPU, without autocast.
bool supports_recurrent_layer(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// W x is one product for all words, U h one product per step. The gates, and an LSTM's cells, are saved for
/// backward. It cannot be differentiated twice.
///   x [N, D], rows of `order`; initial states [B, dirs, H]; weights as for LibTorch's functions
///   -> output [N, dirs H], final states [B, dirs, H]
RecurrentOutput recurrent_layer(Cell cell, const at::Tensor& x, const RecurrentState& initial,
                                const std::shared_ptr<const PackedOrder>& order,
                                const std::vector<at::Tensor>& weights);

/// b_W + b_U [3 H] of a GRU, without the last third of b_U, which the gate r multiplies.
at::Tensor gru_input_bias(const at::Tensor& b_w, const at::Tensor& b_u);

namespace recurrent_op {

/// The tensors of a layer, all contiguous; G = 3 (GRU) or 4 (LSTM).
struct Layer {
  Cell cell;
  const PackedOrder& order;
  std::vector<at::Tensor> initial;  // h, and an LSTM's c: [B, dirs, H]
  std::vector<at::Tensor> weights;  // W [G H, D], U [G H, H], b_W, b_U [G H] of each direction
  bool saves = true;                // whether gates and cells are saved for backward
  at::Tensor output{};              // [N, dirs H]
  std::vector<at::Tensor> gates{};  // [N, 4 H] of each direction
  std::vector<at::Tensor> cells{};  // [N, H] of each direction of an LSTM

  bool is_gru() const { return cell == Cell::gru; }
  std::int64_t hidden() const { return initial[0].size(2); }
  std::int64_t directions() const { return initial[0].size(1); }
  const at::Tensor& weight(std::int64_t direction, std::size_t which) const {
    return weights[4 * static_cast<std::size_t>(direction) + which];
  }
};

/// Sets the layer's output, gates and cells -> the output and the final states.
std::vector<at::Tensor> forward_cpu(Layer& layer, const at::Tensor& x);

/// `grads` are those of what forward_cpu returned -> the gradients of x, the initial states and the weights.
std::vector<at::Tensor> backward_cpu(const Layer& layer, const at::Tensor& x,
                                     const std::vector<at::Tensor>& grads, bool needs_grad_x);

/// forward_cpu as a function with a gradient.
std::vector<at::Tensor> differentiable(Cell cell, const at::Tensor& x, const RecurrentState& initial,
                                       const std::shared_ptr<const PackedOrder>& order,
                                       const std::vector<at::Tensor>& weights);

std::vector<at::Tensor> contiguous(at::TensorList tensors);

}  // namespace recurrent_op
}  // namespace sentencode::nn
