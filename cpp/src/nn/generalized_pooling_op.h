#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/nn/generalized_pooling.h"

namespace sentencode::nn {

/// The operator sentencode::attention_pooling of the CPU, which torch.ops shows, too: AttentionPooling over
/// rows that follow each other, with a gradient. Other devices have AttentionPooling::composed.
///   h [P, d] or [..., d] with P rows, float or double; places [R] int64, none of which comes twice: word r
///   is row places[r] of h, undefined: row r; offsets [B + 1] int64: sentence b has the words from offsets[b]
///   to offsets[b + 1], and others do not count; W1 [G d_a, d], b1 [G d_a] or undefined, W2 [I d, d_a] with G
///   = I; scalar [I, d_a] with G = 1
///   -> [B, I d]
///
/// What is kept for backward is, besides what is given and v, the hidden layer [R, G d_a], the scores [I, R,
/// d], scalar [1, R, I], and for each of B, I and d the largest score and a sum; of what has no gradient,
/// only these last. Some sentences after others are gone through, so that nothing else is as large
/// as the batch.
at::Tensor attention_pooling(const at::Tensor& h, const at::Tensor& places, const at::Tensor& offsets,
                             const at::Tensor& w1, const at::Tensor& b1, const at::Tensor& w2,
                             const AttentionPoolingOptions& options);

}  // namespace sentencode::nn
