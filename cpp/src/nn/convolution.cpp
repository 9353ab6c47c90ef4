#include "sentencode/nn/convolution.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/init.h>

#include <ostream>

#include "nn/checks.h"
#include "nn/parameters.h"
#include "sentencode/error.h"

namespace sentencode::nn {

using at::Tensor;

Convolution::Convolution(std::int64_t features, std::int64_t filters, std::int64_t window,
                         Activation activation, Padding padding)
    : Module("Convolution"), window_(window), activation_(activation), padding_(padding) {
  ST_CHECK(features >= 1 && filters >= 1 && window >= 1, InvalidInput,
           "Convolution: features, filters and window must be at least 1, got ", features, ", ", filters,
           " and ", window);
  weight_ = register_parameter("weight", uninitialised({filters, features, window}));
  bias_ = register_parameter("bias", at::zeros({filters}, at::kFloat));
  torch::nn::init::xavier_uniform_(weight_);
}

std::pair<Tensor, Tensor> Convolution::forward(const Tensor& x, const Tensor& mask) const {
  check_tensor("Convolution: x", x, Type::floating, {"batch", "time", weight_.size(1)});
  const auto shape = x.sizes().slice(0, 2);
  const Tensor is_word = mask.defined() ? mask : at::ones(shape, x.options().dtype(at::kBool));  // [B, T]
  check_tensor("Convolution: mask", is_word, Type::boolean, shape);
  if (x.size(1) == 0) return {x.new_zeros({x.size(0), 0, weight_.size(0)}), is_word};
  Tensor words = x.transpose(1, 2);  // [B, D, T]
  if (mask.defined()) words = words.masked_fill(mask.logical_not().unsqueeze(1), 0);
  // There is one window per word: valid windows begin with it, and those that extend past the end are masked.
  const std::int64_t left = padding_ == Padding::valid  ? 0
                            : padding_ == Padding::same ? (window_ - 1) / 2
                                                        : window_ - 1;
  const Tensor padded = at::constant_pad_nd(words, {left, window_ - 1 - left});  // [B, D, T + window - 1]
  const Tensor h = activate(at::conv1d(padded, weight_, bias_).transpose(1, 2), activation_);  // [B, T, F]
  if (padding_ != Padding::valid) return {h, is_word};
  const Tensor positions = at::arange(x.size(1), is_word.options().dtype(at::kLong));      // [T]
  const Tensor windows = (is_word.sum(1, /*keepdim=*/true) - (window_ - 1)).clamp_min(1);  // [B, 1]
  return {h, is_word.logical_and(positions < windows)};
}

void Convolution::check_causal() const {
  TORCH_CHECK_VALUE(padding_ == Padding::causal, "Convolution: steps require padding 'causal', got '",
                    name_of(padding_), "'");
}

std::pair<Tensor, Tensor> Convolution::step(const Tensor& x, const Tensor& cache) const {
  check_causal();
  check_tensor("Convolution: x of a step", x, Type::floating, {"batch", weight_.size(1)});
  check_tensor("Convolution: cache", cache, Type::any, {x.size(0), window_ - 1, x.size(1)});
  const Tensor words = at::cat({cache, x.unsqueeze(1)}, 1);                                  // [N, window, D]
  const Tensor h = at::linear(words.transpose(1, 2).flatten(1), weight_.flatten(1), bias_);  // [N, F]
  return {activate(h, activation_), words.slice(1, 1)};
}

Tensor Convolution::empty_cache(std::int64_t batch, const Tensor& like) const {
  check_causal();
  TORCH_CHECK_VALUE(batch >= 0, "Convolution: batch must be at least 0, got ", batch);
  return at::zeros({batch, window_ - 1, weight_.size(1)}, like.options().requires_grad(false));
}

void Convolution::pretty_print(std::ostream& out) const {
  out << "Convolution(filters=" << weight_.size(0) << ", features=" << weight_.size(1)
      << ", window=" << window_ << ", " << name_of(activation_) << ", " << name_of(padding_) << ")";
}

}  // namespace sentencode::nn
