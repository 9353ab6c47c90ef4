#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// Where windows lie. `valid`: within the sentence; N words have max(N - window + 1, 1) of them, since a
/// sentence that is shorter than the window has a single one, filled up with zeros. `same`: one around each
/// word, which reaches one word further to the right than to the left where it has an even width. `causal`:
/// one that ends at each word.
enum class Padding { valid, same, causal };

Padding parse_padding(std::string_view name);  // InvalidInput names the choices
std::string_view padding_name(Padding padding);

/// Filters that see `window` words at a time: f(W x + b) of each window. What is not there counts as zero.
class Convolution : public torch::nn::Module {
 public:
  Convolution(std::int64_t features, std::int64_t filters, std::int64_t window,
              Activation activation = Activation::tanh, Padding padding = Padding::valid);

  /// x [B, T, D], mask [B, T] bool, or undefined for all -> [B, T, F], and [B, T] bool, where there is a
  /// window. Valid windows stand where their first words do, and want words at the left.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& mask = {}) const;

  /// One word further, for causal windows. x [N, D], cache [N, window - 1, D] -> [N, F], cache
  std::pair<at::Tensor, at::Tensor> step(const at::Tensor& x, const at::Tensor& cache) const;

  /// What a step sees before the first word: zeros of the type and on the device of `like`.
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
