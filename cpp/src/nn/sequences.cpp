#include "sentencode/nn/sequences.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <cstdint>

namespace sentencode::nn {

using at::Tensor;

Sequences Sequences::of(const Tensor& x, const Tensor& lengths, bool full, const Tensor& host_lengths) {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point(),
                    "sentences must be floating point [batch, time, features], got ", x.dtype(), " ",
                    x.sizes());
  TORCH_CHECK_VALUE(lengths.scalar_type() == at::kLong && lengths.dim() == 1 && lengths.size(0) == x.size(0),
                    "lengths must be int64 [", x.size(0), "], got ", lengths.dtype(), " ", lengths.sizes());
  if (full) {
    return {x, lengths, at::ones(x.sizes().slice(0, 2), x.options().dtype(at::kBool)), true, host_lengths};
  }
  const Tensor& here = host_lengths.defined() ? host_lengths : lengths;
  if (here.is_cpu() && here.numel() > 0) {  // a GPU would have to be waited for
    const auto [least, most] = here.aminmax();
    const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
    TORCH_CHECK_VALUE(low >= 0 && high <= x.size(1), "lengths must be from 0 to ", x.size(1), ", got ",
                      low < 0 ? low : high);
    if (low == x.size(1)) return of(x, lengths, true, host_lengths);
  }
  const Tensor places = at::arange(x.size(1), x.options().dtype(at::kLong));      // [T]
  const Tensor mask = places.unsqueeze(0) < lengths.to(x.device()).unsqueeze(1);  // [B, T]
  // Even without a weight, what is no number would be none in a sum, and in a gradient.
  return {x.masked_fill(mask.logical_not().unsqueeze(2), 0), lengths, mask, false, host_lengths};
}

Sequences Sequences::with(const Tensor& vectors) const {
  Tensor own = vectors;
  if (!full) own = own.masked_fill(mask.logical_not().unsqueeze(2), 0);
  return {own, lengths, mask, full, host_lengths};
}

}  // namespace sentencode::nn
