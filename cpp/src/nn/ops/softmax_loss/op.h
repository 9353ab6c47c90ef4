// softmax_loss (sentencode/nn/softmax_loss.h) on any device.
//
// op.cpp has the checks and selects the rows, autograd.cpp the gradient, chunks.cpp the computation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sentencode::nn::softmax_loss_op {

bool is_half(at::ScalarType type);  // bfloat16 or float16

/// The arguments of one loss, without rows that do not count.
struct Rows {
  at::Tensor h;             // [N, D]
  at::Tensor weight;        // W [V, D]
  at::Tensor bias;          // b [V], or undefined
  at::Tensor targets;       // [N] int64
  at::Tensor weights;       // w [N], of type `sums`; they sum to 1 for the mean
  at::ScalarType products;  // type of the matrix products
  at::ScalarType sums;      // type of logits, sums and gradients: float for half precision
  double label_smoothing;   // e
  std::int64_t chunk_rows;
};

/// The loss and the gradients of it that were requested.
struct Losses {
  at::Tensor loss;                            // []
  at::Tensor nll;                             // [N]
  at::Tensor correct;                         // [] int64
  at::Tensor grad_h, grad_weight, grad_bias;  // in `sums`
};
struct Needs {
  bool grad_h, grad_weight, grad_bias;
};

Losses by_chunks(const Rows& rows, const Needs& needs);

/// by_chunks as a function with a gradient -> loss, nll, correct
std::vector<at::Tensor> differentiable(const Rows& rows);

}  // namespace sentencode::nn::softmax_loss_op
