// Attention pooling by vector scores on GPUs, as the operator sentencode::vector_pooling.
//
// op.cpp has the schema, autograd.cpp the gradient, kernel.h the checks and the call of the kernel
// (cuda/generalized_pooling.cu), which tests run on an emulated GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace sentencode::nn {

/// Softmax of the scores over the words of each sentence, and the sum of the vectors h with these weights.
///   scores [I, B, T, d] and h [B, T, d], float or double; lengths [B] int64 on the same device -> [B, I, d]
/// Padding is not read, and has zero gradients.
at::Tensor vector_pooling(const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths);

/// Whether this build has the kernel for the device and type of x.
bool has_vector_pooling(const at::Tensor& x);

namespace vector_pooling_op {

using Pair = std::tuple<at::Tensor, at::Tensor>;
/// -> v [B, I, d], norms [2, B, I, d]: maximum and sum of exp(scores - maximum)
using Forward = Pair(const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths);
/// -> the gradients of scores and h
using Backward = Pair(const at::Tensor& grad_v, const at::Tensor& scores, const at::Tensor& h,
                      const at::Tensor& lengths, const at::Tensor& v, const at::Tensor& norms);

Forward differentiable;

}  // namespace vector_pooling_op
}  // namespace sentencode::nn
