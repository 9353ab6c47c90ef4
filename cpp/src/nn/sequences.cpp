#include "sentencode/nn/sequences.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cstdint>

#include "nn/checks.h"

namespace sentencode::nn {

using at::Tensor;

Sequences Sequences::of(const Tensor& x, const Tensor& lengths, bool full, const Tensor& host_lengths) {
  check_tensor("sentences", x, Type::floating, {"batch", "time", "features"});
  check_tensor("lengths", lengths, Type::int64, {x.size(0)});
  const Tensor& readable = host_lengths.defined() ? host_lengths : lengths;
  if (!full) check_lengths("lengths", readable, x.size(0), x.size(1));
  if (full ||
      (readable.is_cpu() && readable.numel() > 0 && readable.min().item<std::int64_t>() == x.size(1))) {
    return {x, lengths, at::ones(x.sizes().slice(0, 2), x.options().dtype(at::kBool)), true, host_lengths};
  }
  const Tensor positions = at::arange(x.size(1), x.options().dtype(at::kLong));      // [T]
  const Tensor mask = positions.unsqueeze(0) < lengths.to(x.device()).unsqueeze(1);  // [B, T]
  // NaN times zero is NaN, so padding must be zero in sums and gradients.
  return {x.masked_fill(mask.logical_not().unsqueeze(2), 0), lengths, mask, false, host_lengths};
}

Sequences Sequences::with(const Tensor& vectors) const {
  const Tensor masked = full ? vectors : vectors.masked_fill(mask.logical_not().unsqueeze(2), 0);
  return {masked, lengths, mask, full, host_lengths};
}

}  // namespace sentencode::nn
