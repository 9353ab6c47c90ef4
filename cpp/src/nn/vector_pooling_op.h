#pragma once

#include <ATen/core/Tensor.h>

namespace sentencode::nn {

/// Softmax of vector scores over the words of each sentence, and the sum of the words' vectors with these
/// weights: the operator sentencode::vector_pooling, one kernel where a device has it
/// (cuda/generalized_pooling.cu).
///   scores [I, B, T, d] and h [B, T, d], float or double; lengths [B] int64 on the same device -> [B, I, d]
/// Padding is not read, and has zero gradients.
at::Tensor vector_pooling(const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths);

/// Whether this build has the kernel for the device and type of x.
bool has_vector_pooling(const at::Tensor& x);

}  // namespace sentencode::nn
