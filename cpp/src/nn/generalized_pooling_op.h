#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/nn/generalized_pooling.h"

namespace sentencode::nn {

/// The operator sentencode::attention_pooling, which torch.ops shows, too: AttentionPooling over rows that
/// follow each other, with a gradient.
///   h [R, d] float or double, offsets [B + 1] int64: sentence b has the rows from offsets[b] to
///   offsets[b + 1], and others do not count; W1 [G d_a, d], b1 [G d_a] or undefined, W2 [I d, d_a] with G =
///   I; scalar [I, d_a] with G = 1  -> [B, I d]
///
/// `few_sizes` of R make products fast. What is kept for backward is, besides what is given and v, the hidden
/// layer [R, G d_a], and for each of B, I and d the largest score and a sum.
at::Tensor attention_pooling(const at::Tensor& h, const at::Tensor& offsets, const at::Tensor& w1,
                             const at::Tensor& b1, const at::Tensor& w2,
                             const AttentionPoolingOptions& options);

}  // namespace sentencode::nn
