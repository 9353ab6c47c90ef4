#include "sentencode/nn/pooling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>
#include <ostream>

#include "nn/checks.h"
#include "sentencode/error.h"

namespace sentencode::nn {

std::int64_t pooling_width(Pooling pooling) { return pooling == Pooling::mean_max ? 2 : 1; }

namespace {

// padding [B, T, 1] and lengths [B, 1] are undefined if there is no padding.

at::Tensor masked_mean(const at::Tensor& x, const at::Tensor& padding, const at::Tensor& lengths) {
  if (!padding.defined()) return x.sum(1) / x.size(1);             // [B, D]
  return x.masked_fill(padding, 0).sum(1) / lengths.clamp_min(1);  // [B, D]
}

at::Tensor masked_max(const at::Tensor& x, const at::Tensor& padding, const at::Tensor& lengths) {
  if (!padding.defined()) return std::get<0>(x.max(1));                                 // [B, D]
  const auto words = x.masked_fill(padding, -std::numeric_limits<double>::infinity());  // [B, T, D]
  return std::get<0>(words.max(1)).masked_fill(lengths == 0, 0);                        // [B, D]
}

at::Tensor masked_last(const at::Tensor& x, const at::Tensor& mask, const at::Tensor& lengths) {
  if (!mask.defined()) return x.select(1, x.size(1) - 1);                         // [B, D]
  const auto positions = at::arange(x.size(1), mask.options().dtype(at::kLong));  // [T]
  const auto last = at::where(mask, positions, 0).amax(1).view({-1, 1, 1});       // [B, 1, 1]
  const auto vectors = x.gather(1, last.expand({-1, 1, x.size(2)})).squeeze(1);   // [B, D]
  return vectors.masked_fill(lengths == 0, 0);
}

}  // namespace

at::Tensor masked_pooling(const at::Tensor& x, const at::Tensor& mask, Pooling pooling) {
  check_tensor("pooling: x", x, Type::floating, {"batch", "time", "features"});
  if (mask.defined()) check_tensor("pooling: mask", mask, Type::boolean, x.sizes().slice(0, 2));
  if (x.size(1) == 0) return x.new_zeros({x.size(0), pooling_width(pooling) * x.size(2)});
  const auto lengths = mask.defined() ? mask.sum(1, /*keepdim=*/true) : at::Tensor();    // [B, 1]
  const auto padding = mask.defined() ? mask.logical_not().unsqueeze(2) : at::Tensor();  // [B, T, 1]
  switch (pooling) {
    case Pooling::mean:
      return masked_mean(x, padding, lengths);
    case Pooling::max:
      return masked_max(x, padding, lengths);
    case Pooling::mean_max:
      return at::cat({masked_mean(x, padding, lengths), masked_max(x, padding, lengths)}, 1);
    case Pooling::last:
      return masked_last(x, mask, lengths);
  }
  throw InternalError("no such pooling");
}

at::Tensor MaskedPooling::forward(const at::Tensor& x, const at::Tensor& mask) const {
  return masked_pooling(x, mask, pooling_);
}

void MaskedPooling::pretty_print(std::ostream& out) const {
  out << "MaskedPooling(" << name_of(pooling_) << ")";
}

}  // namespace sentencode::nn
