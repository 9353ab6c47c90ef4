// Rows of words out of padded batches, and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sentencode::nn {

/// to[i] = x[places[i]] for places [N] int64, rows being [d]; without gradients.
void take_rows(const at::Tensor& x, const at::Tensor& places, const at::Tensor& to);
/// to[places[i]] = rows[i]; no place comes twice.
void put_rows(const at::Tensor& rows, const at::Tensor& places, const at::Tensor& to);
/// Zero into all other rows of `to`.
void zero_other_rows(const at::Tensor& to, const at::Tensor& places);

/// The rows of x [P, d] at `places` [N], none of which comes twice: [N, d]; with gradients.
at::Tensor gather_rows(const at::Tensor& x, const at::Tensor& places);
/// The way back: rows [N, d] -> [count, d], zero elsewhere; with gradients.
at::Tensor scatter_rows(const at::Tensor& rows, const at::Tensor& places, std::int64_t count);

}  // namespace sentencode::nn
