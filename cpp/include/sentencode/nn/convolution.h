#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <utility>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// Filters that see `window` words at a time: f(W x_{t .. t + window - 1} + b). A sentence of N words has
/// max(N - window + 1, 1) windows: one that is shorter than the window has a single one, filled up with
/// zeros.
class Convolution : public torch::nn::Module {
 public:
  Convolution(std::int64_t features, std::int64_t filters, std::int64_t window,
              Activation activation = Activation::tanh);

  /// x [B, T, D], mask [B, T] bool: words at the left -> [B, T, F], and [B, T] bool, where there is a window.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& mask) const;
  void pretty_print(std::ostream& out) const override;

 private:
  std::int64_t window_;
  Activation activation_;
  at::Tensor weight_;  // [F, D, window]
  at::Tensor bias_;    // [F]
};

}  // namespace sentencode::nn
