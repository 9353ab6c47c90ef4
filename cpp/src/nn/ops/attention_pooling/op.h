// Attention pooling on CPUs (paper 002, eq. 5 and 6) as the operator sentencode::attention_pooling.
//
// op.cpp has the schema and the checks, autograd.cpp the gradient, cpu.cpp the kernels. Other devices use
// AttentionPooling::composed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "sentencode/nn/generalized_pooling.h"

namespace sentencode::nn {

/// The words of all sentences, one sentence after the other, to one vector per sentence, with a gradient.
///   h [R, d] float or double
///   offsets [B + 1] int64: sentence b consists of the words offsets[b], ..., offsets[b + 1] - 1
///   W1 [G d_a, d], b1 [G d_a] or undefined, W2 [I d, d_a] with G = I; scalar scores: [I, d_a] with G = 1
///   -> v [B, I d]
at::Tensor attention_pooling(const at::Tensor& h, const at::Tensor& offsets, const at::Tensor& w1,
                             const at::Tensor& b1, const at::Tensor& w2,
                             const AttentionPoolingOptions& options);

namespace attention_pooling_op {

/// What the operator returns: v, and what its backward needs. For tensors that need no gradient z and s are
/// empty.
using Outputs = std::tuple<at::Tensor,   // v [B, I d]
                           at::Tensor,   // z [R, G d_a], the hidden layer
                           at::Tensor,   // norms [2, B, G S]: maximum and sum of exp(s - maximum)
                           at::Tensor>;  // s [G, R, S], the scores; S = d, scalar scores: S = I
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // of h, W1, b1, W2

using Forward = Outputs(const at::Tensor& h, const at::Tensor& offsets, const at::Tensor& w1,
                        const std::optional<at::Tensor>& b1, const at::Tensor& w2, std::int64_t heads,
                        std::string_view scores, std::string_view activation, bool keep);
using Backward = Gradients(const at::Tensor& grad_v, const at::Tensor& h, const at::Tensor& offsets,
                           const at::Tensor& w1, const at::Tensor& w2, const at::Tensor& v,
                           const at::Tensor& z, const at::Tensor& norms, const at::Tensor& s,
                           std::int64_t heads, std::string_view scores, std::string_view activation);

Forward forward_cpu, differentiable;
Backward backward_cpu;

/// The checked sizes and options of a call. A group is a part of the hidden layer with its scores: a head for
/// vector scores; scalar scores have one group for all heads.
struct Sizes {
  bool scalar, relu;
  std::int64_t heads, groups, words, sentences, features, hidden, scores;  // I, G, R, B, d, d_a, S

  /// ValueError names the argument.
  Sizes(const at::Tensor& h, const at::Tensor& offsets, const at::Tensor& w1,
        const std::optional<at::Tensor>& b1, const at::Tensor& w2, std::int64_t heads,
        std::string_view scores, std::string_view activation);

  void check_backward(const at::Tensor& grad_v, const at::Tensor& h, const at::Tensor& v, const at::Tensor& z,
                      const at::Tensor& norms, const at::Tensor& s) const;
};

}  // namespace attention_pooling_op
}  // namespace sentencode::nn
