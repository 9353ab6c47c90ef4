#include "sentencode/nn/pooling.h"

#include <ATen/ops/cat.h>
#include <torch/nn/modules/linear.h>

#include <limits>
#include <ostream>

#include "sentencode/error.h"

namespace sentencode::nn {

Pooling parse_pooling(std::string_view name) {
  for (const Pooling pooling : {Pooling::mean, Pooling::max, Pooling::mean_max}) {
    if (name == pooling_name(pooling)) return pooling;
  }
  throw InvalidInput(concat("pooling must be 'mean', 'max' or 'mean_max', got '", name, "'"));
}

std::string_view pooling_name(Pooling pooling) {
  switch (pooling) {
    case Pooling::mean:
      return "mean";
    case Pooling::max:
      return "max";
    case Pooling::mean_max:
      return "mean_max";
  }
  throw InternalError("no such pooling");
}

std::int64_t pooling_width(Pooling pooling) { return pooling == Pooling::mean_max ? 2 : 1; }

namespace {

at::Tensor masked_mean(const at::Tensor& x, const at::Tensor& hidden, const at::Tensor& words) {
  return x.masked_fill(hidden, 0).sum(1) / words.clamp_min(1);  // [B, D]
}

at::Tensor masked_max(const at::Tensor& x, const at::Tensor& hidden, const at::Tensor& words) {
  // Not a large negative number: whatever the vectors hold, a hidden word must lose.
  const auto shown = x.masked_fill(hidden, -std::numeric_limits<double>::infinity());  // [B, T, D]
  return std::get<0>(shown.max(1)).masked_fill(words == 0, 0);                         // [B, D]
}

}  // namespace

at::Tensor masked_pooling(const at::Tensor& x, const at::Tensor& mask, Pooling pooling) {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point(),
                    "pooling: x must be floating point [batch, time, features], got ", x.dtype(), " ",
                    x.sizes());
  TORCH_CHECK_VALUE(mask.scalar_type() == at::kBool && mask.sizes() == x.sizes().slice(0, 2),
                    "pooling: mask must be bool ", x.sizes().slice(0, 2), ", got ", mask.dtype(), " ",
                    mask.sizes());
  const auto words = mask.sum(1, /*keepdim=*/true);  // [B, 1]
  if (x.size(1) == 0) return x.new_zeros({x.size(0), pooling_width(pooling) * x.size(2)});
  const auto hidden = mask.logical_not().unsqueeze(2);  // [B, T, 1]
  switch (pooling) {
    case Pooling::mean:
      return masked_mean(x, hidden, words);
    case Pooling::max:
      return masked_max(x, hidden, words);
    case Pooling::mean_max:
      return at::cat({masked_mean(x, hidden, words), masked_max(x, hidden, words)}, 1);
  }
  throw InternalError("no such pooling");
}

MaskedPooling::MaskedPooling(const std::string& pooling)
    : Module("MaskedPooling"), pooling_(parse_pooling(pooling)) {}

at::Tensor MaskedPooling::forward(const at::Tensor& x, const at::Tensor& mask) const {
  return masked_pooling(x, mask, pooling_);
}

void MaskedPooling::pretty_print(std::ostream& out) const {
  out << "MaskedPooling(" << pooling_name(pooling_) << ")";
}

ProjectedPooling::ProjectedPooling(std::int64_t in_features, std::int64_t out_features,
                                   const std::string& pooling, bool bias)
    : Module("ProjectedPooling") {
  ST_CHECK(in_features >= 1 && out_features >= 1, InvalidInput,
           "ProjectedPooling: in_features and out_features must be at least 1, got ", in_features, " and ",
           out_features);
  projection_ =
      register_module("projection", std::make_shared<torch::nn::LinearImpl>(
                                        torch::nn::LinearOptions(in_features, out_features).bias(bias)));
  pool_ = register_module("pool", std::make_shared<MaskedPooling>(pooling));
}

at::Tensor ProjectedPooling::forward(const at::Tensor& x, const at::Tensor& mask) const {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) == projection_->options.in_features(),
                    "ProjectedPooling: x must be [batch, time, ", projection_->options.in_features(),
                    "], got ", x.sizes());
  return pool_->forward(projection_->forward(x), mask);  // [B, T, out] -> [B, k out]
}

}  // namespace sentencode::nn
