#include "sentencode/nn/pooling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>
#include <ostream>

#include "sentencode/error.h"

namespace sentencode::nn {

Pooling parse_pooling(std::string_view name) {
  for (const Pooling pooling : {Pooling::mean, Pooling::max, Pooling::mean_max, Pooling::last}) {
    if (name == pooling_name(pooling)) return pooling;
  }
  throw InvalidInput(concat("pooling must be 'mean', 'max', 'mean_max' or 'last', got '", name, "'"));
}

std::string_view pooling_name(Pooling pooling) {
  switch (pooling) {
    case Pooling::mean:
      return "mean";
    case Pooling::max:
      return "max";
    case Pooling::mean_max:
      return "mean_max";
    case Pooling::last:
      return "last";
  }
  throw InternalError("no such pooling");
}

std::int64_t pooling_width(Pooling pooling) { return pooling == Pooling::mean_max ? 2 : 1; }

namespace {

// hidden [B, T, 1] and words [B, 1] are undefined where all vectors are words'.

at::Tensor masked_mean(const at::Tensor& x, const at::Tensor& hidden, const at::Tensor& words) {
  if (!hidden.defined()) return x.sum(1) / x.size(1);           // [B, D]
  return x.masked_fill(hidden, 0).sum(1) / words.clamp_min(1);  // [B, D]
}

at::Tensor masked_max(const at::Tensor& x, const at::Tensor& hidden, const at::Tensor& words) {
  if (!hidden.defined()) return std::get<0>(x.max(1));  // [B, D]
  // Not a large negative number: whatever the vectors hold, a hidden word must lose.
  const auto shown = x.masked_fill(hidden, -std::numeric_limits<double>::infinity());  // [B, T, D]
  return std::get<0>(shown.max(1)).masked_fill(words == 0, 0);                         // [B, D]
}

at::Tensor masked_last(const at::Tensor& x, const at::Tensor& mask, const at::Tensor& words) {
  if (!mask.defined()) return x.select(1, x.size(1) - 1);                      // [B, D]
  const auto places = at::arange(x.size(1), mask.options().dtype(at::kLong));  // [T]
  const auto last = at::where(mask, places, 0).amax(1).view({-1, 1, 1});       // [B, 1, 1]
  const auto row = x.gather(1, last.expand({-1, 1, x.size(2)})).squeeze(1);    // [B, D]
  return row.masked_fill(words == 0, 0);
}

}  // namespace

at::Tensor masked_pooling(const at::Tensor& x, const at::Tensor& mask, Pooling pooling) {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point(),
                    "pooling: x must be floating point [batch, time, features], got ", x.dtype(), " ",
                    x.sizes());
  TORCH_CHECK_VALUE(
      !mask.defined() || (mask.scalar_type() == at::kBool && mask.sizes() == x.sizes().slice(0, 2)),
      "pooling: mask must be bool ", x.sizes().slice(0, 2), ", got ", mask.dtype(), " ", mask.sizes());
  if (x.size(1) == 0) return x.new_zeros({x.size(0), pooling_width(pooling) * x.size(2)});
  const auto words = mask.defined() ? mask.sum(1, /*keepdim=*/true) : at::Tensor();     // [B, 1]
  const auto hidden = mask.defined() ? mask.logical_not().unsqueeze(2) : at::Tensor();  // [B, T, 1]
  switch (pooling) {
    case Pooling::mean:
      return masked_mean(x, hidden, words);
    case Pooling::max:
      return masked_max(x, hidden, words);
    case Pooling::mean_max:
      return at::cat({masked_mean(x, hidden, words), masked_max(x, hidden, words)}, 1);
    case Pooling::last:
      return masked_last(x, mask, words);
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

}  // namespace sentencode::nn
