#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <utility>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// Positions of the windows. `valid`: inside the sentence; N words have max(N - window + 1, 1) windows,
/// because a sentence that is shorter than the window is padded with zeros. `same`: centred at each word; a
/// window of even width extends one word further to the right. `causal`: ending at each word.
enum class Padding { valid, same, causal };
constexpr EnumNames<3> enum_names(Padding) { return {"padding", {"valid", "same", "causal"}}; }

/// One-dimensional convolution: f(W x + b) of each window of words. Padding is zero.
class Convolution : public torch::nn::Module {
 public:
  Convolution(std::int64_t features, std::int64_t filters, std::int64_t window,
              Activation activation = Activation::tanh, Padding padding = Padding::valid);

  /// x [B, T, D], mask [B, T] bool or undefined -> [B, T, F], and [B, T] bool: positions with a window. A
  /// valid window is at the position of its first word, and requires padding to be on the right.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& mask = {}) const;

  /// The next word, for causal windows. x [N, D], cache [N, window - 1, D] -> [N, F], cache
  std::pair<at::Tensor, at::Tensor> step(const at::Tensor& x, const at::Tensor& cache) const;

  /// The initial cache: zeros of the type and on the device of `like`.
  at::Tensor empty_cache(std::int64_t batch, const at::Tensor& like) const;  // [batch, window - 1, D]

  void pretty_print(std::ostream& out) const override;

 private:
  void check_causal() const;

  std::int64_t window_;
  Activation activation_;
  Padding padding_;
  at::Tensor weight_;  // [F, D, window]
  at::Tensor bias_;    // [F]
};

}  // namespace sentencode::nn
