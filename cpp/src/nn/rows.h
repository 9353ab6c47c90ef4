// Rows of words out of padded batches, and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sentencode::nn {

/// The rows of x [P, d] at `positions` [N], which are distinct -> [N, d]; with gradients of any order.
at::Tensor gather_rows(const at::Tensor& x, const at::Tensor& positions);
/// The inverse: rows [N, d] -> [count, d], zero at all other positions.
at::Tensor scatter_rows(const at::Tensor& rows, const at::Tensor& positions, std::int64_t count);

}  // namespace sentencode::nn
