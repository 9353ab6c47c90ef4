// Linear maps by the fastest library: MKL or oneDNN.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// x W^T + b, many times with the same W, without gradients; float on the CPU. oneDNN first reorders W, and
/// is then much faster than MKL for few rows, and on processors that are not Intel's.
class Product {
 public:
  using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                            std::string_view, c10::List<std::optional<at::Scalar>>,
                            std::optional<std::string_view>);

  /// weight [O, D], bias [O] or undefined. x will have about `rows` rows, and `all_rows` in all calls
  /// together.
  Product(const at::Tensor& weight, const at::Tensor& bias, std::int64_t rows, std::int64_t all_rows);

  /// x [n, D] -> [n, O]. oneDNN caches a program for each n: callers should use few.
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
  std::optional<c10::TypedOperatorHandle<Linear>> linear_;
};

/// x W^T + b, without gradients; x [n, D] of any n, W [O, D] contiguous, b [O] or undefined.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// layer.forward(x), x [..., D] -> [..., O], with gradients. On processors that are not Intel's, oneDNN
/// computes it and the gradient of x, because MKL, which torch always uses, is slower: by a tenth on Zen 4,
/// by half on Zen 5.
at::Tensor linear(torch::nn::LinearImpl& layer, const at::Tensor& x);

}  // namespace sentencode::nn
