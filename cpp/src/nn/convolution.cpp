#include "sentencode/nn/convolution.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/init.h>

#include <ostream>

#include "nn/parameters.h"
#include "sentencode/error.h"

namespace sentencode::nn {

using at::Tensor;

Convolution::Convolution(std::int64_t features, std::int64_t filters, std::int64_t window,
                         Activation activation)
    : Module("Convolution"), window_(window), activation_(activation) {
  ST_CHECK(features >= 1 && filters >= 1 && window >= 1, InvalidInput,
           "Convolution: features, filters and window must be at least 1, got ", features, ", ", filters,
           " and ", window);
  weight_ = register_parameter("weight", uninitialised({filters, features, window}));
  bias_ = register_parameter("bias", at::zeros({filters}));
  torch::nn::init::xavier_uniform_(weight_);
}

std::pair<Tensor, Tensor> Convolution::forward(const Tensor& x, const Tensor& mask) const {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point() && x.size(2) == weight_.size(1),
                    "Convolution: x must be floating point [batch, time, ", weight_.size(1), "], got ",
                    x.dtype(), " ", x.sizes());
  TORCH_CHECK_VALUE(mask.scalar_type() == at::kBool && mask.sizes() == x.sizes().slice(0, 2),
                    "Convolution: mask must be bool ", x.sizes().slice(0, 2), ", got ", mask.dtype(), " ",
                    mask.sizes());
  const Tensor words = x.masked_fill(mask.logical_not().unsqueeze(2), 0).transpose(1, 2);  // [B, D, T]
  // A window at each word, though those near the end hang over it: they are masked.
  const Tensor filled = at::constant_pad_nd(words, {0, window_ - 1});            // [B, D, T + window - 1]
  const Tensor h = at::conv1d(filled, weight_, bias_).transpose(1, 2);           // [B, T, F]
  const Tensor places = at::arange(x.size(1), mask.options().dtype(at::kLong));  // [T]
  const Tensor windows = (mask.sum(1, /*keepdim=*/true) - (window_ - 1)).clamp_min(1);  // [B, 1]
  return {activate(h, activation_), mask.logical_and(places < windows)};
}

void Convolution::pretty_print(std::ostream& out) const {
  out << "Convolution(filters=" << weight_.size(0) << ", features=" << weight_.size(1)
      << ", window=" << window_ << ", " << activation_name(activation_) << ")";
}

}  // namespace sentencode::nn
