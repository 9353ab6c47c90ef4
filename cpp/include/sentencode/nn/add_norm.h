#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

namespace sentencode::nn {

/// The end of a sub-layer of a Transformer: layer_norm(residual + dropout(x)).
class AddNorm : public torch::nn::Module {
 public:
  explicit AddNorm(std::int64_t features, double epsilon = 1e-5, double dropout = 0);

  /// x [..., D], residual [..., D] or undefined -> [..., D]
  at::Tensor forward(const at::Tensor& x, const at::Tensor& residual = {}) const;
  void pretty_print(std::ostream& out) const override;

 private:
  double epsilon_, dropout_;
  at::Tensor weight_, bias_;  // [D]
};

}  // namespace sentencode::nn
