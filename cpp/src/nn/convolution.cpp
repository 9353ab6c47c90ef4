#include "sentencode/nn/convolution.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/init.h>

#include <ostream>

#include "nn/parameters.h"
#include "sentencode/error.h"

namespace sentencode::nn {

using at::Tensor;

Padding parse_padding(std::string_view name) {
  for (const Padding padding : {Padding::valid, Padding::same, Padding::causal}) {
    if (name == padding_name(padding)) return padding;
  }
  throw InvalidInput(concat("padding must be 'valid', 'same' or 'causal', got '", name, "'"));
}

std::string_view padding_name(Padding padding) {
  switch (padding) {
    case Padding::valid:
      return "valid";
    case Padding::same:
      return "same";
    case Padding::causal:
      return "causal";
  }
  throw InternalError("no such padding");
}

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
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point() && x.size(2) == weight_.size(1),
                    "Convolution: x must be floating point [batch, time, ", weight_.size(1), "], got ",
                    x.dtype(), " ", x.sizes());
  const Tensor there = mask.defined() ? mask : at::ones(x.sizes().slice(0, 2), x.options().dtype(at::kBool));
  TORCH_CHECK_VALUE(there.scalar_type() == at::kBool && there.sizes() == x.sizes().slice(0, 2),
                    "Convolution: mask must be bool ", x.sizes().slice(0, 2), ", got ", there.dtype(), " ",
                    there.sizes());
  if (x.size(1) == 0) return {x.new_zeros({x.size(0), 0, weight_.size(0)}), there};
  Tensor words = x.transpose(1, 2);  // [B, D, T]
  if (mask.defined()) words = words.masked_fill(mask.logical_not().unsqueeze(1), 0);
  // A window for each word, whatever the padding: valid ones begin with it, and those near the end, which
  // hang over it, are masked.
  const std::int64_t before = padding_ == Padding::valid  ? 0
                              : padding_ == Padding::same ? (window_ - 1) / 2
                                                          : window_ - 1;
  const Tensor filled = at::constant_pad_nd(words, {before, window_ - 1 - before});  // [B, D, T + window - 1]
  const Tensor h = activate(at::conv1d(filled, weight_, bias_).transpose(1, 2), activation_);  // [B, T, F]
  if (padding_ != Padding::valid) return {h, there};
  const Tensor places = at::arange(x.size(1), there.options().dtype(at::kLong));         // [T]
  const Tensor windows = (there.sum(1, /*keepdim=*/true) - (window_ - 1)).clamp_min(1);  // [B, 1]
  return {h, there.logical_and(places < windows)};
}

void Convolution::check_causal() const {
  TORCH_CHECK_VALUE(padding_ == Padding::causal,
                    "Convolution: only causal windows can go word by word, padding is '",
                    padding_name(padding_), "'");
}

std::pair<Tensor, Tensor> Convolution::step(const Tensor& x, const Tensor& cache) const {
  check_causal();
  TORCH_CHECK_VALUE(x.dim() == 2 && x.is_floating_point() && x.size(1) == weight_.size(1),
                    "Convolution: x of a step must be floating point [batch, ", weight_.size(1), "], got ",
                    x.dtype(), " ", x.sizes());
  TORCH_CHECK_VALUE(cache.dim() == 3 && cache.size(0) == x.size(0) && cache.size(1) == window_ - 1 &&
                        cache.size(2) == x.size(1),
                    "Convolution: cache must be [", x.size(0), ", ", window_ - 1, ", ", x.size(1), "], got ",
                    cache.sizes());
  const Tensor seen = at::cat({cache, x.unsqueeze(1)}, 1);                                  // [N, window, D]
  const Tensor h = at::linear(seen.transpose(1, 2).flatten(1), weight_.flatten(1), bias_);  // [N, F]
  return {activate(h, activation_), seen.slice(1, 1)};
}

Tensor Convolution::empty_cache(std::int64_t batch, const Tensor& like) const {
  check_causal();
  TORCH_CHECK_VALUE(batch >= 0, "Convolution: batch must be at least 0, got ", batch);
  return at::zeros({batch, window_ - 1, weight_.size(1)}, like.options().requires_grad(false));
}

void Convolution::pretty_print(std::ostream& out) const {
  out << "Convolution(filters=" << weight_.size(0) << ", features=" << weight_.size(1)
      << ", window=" << window_ << ", " << activation_name(activation_) << ", " << padding_name(padding_)
      << ")";
}

}  // namespace sentencode::nn
