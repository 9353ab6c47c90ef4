#include "nn/rows.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kBytes = 128 * 1024;  // that a thread is worth

/// body(from, to, bytes) of all rows of `rows` and of their places in `placed`.
template <typename Body>
void for_rows(const Tensor& rows, const Tensor& places, const Tensor& placed, const Body& body) {
  TORCH_INTERNAL_ASSERT(rows.is_contiguous() && placed.is_contiguous() && places.is_contiguous());
  const std::int64_t bytes = rows.size(1) * static_cast<std::int64_t>(rows.element_size());
  const std::int64_t grain = std::max<std::int64_t>(1, kBytes / std::max<std::int64_t>(1, bytes));
  const auto* const place = places.const_data_ptr<std::int64_t>();
  at::parallel_for(0, places.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row * bytes, place[row] * bytes, bytes);
  });
}

class Gather : public torch::autograd::Function<Gather> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& places) {
    context->save_for_backward({places});
    context->saved_data["count"] = x.size(0);
    if (!x.is_cpu()) return x.index_select(0, places);
    const Tensor found = at::empty({places.size(0), x.size(1)}, x.options());
    take_rows(x.contiguous(), places, found);
    return found;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor places = context->get_saved_variables()[0];
    return {scatter_rows(gradients[0], places, context->saved_data["count"].toInt()), {}};
  }
};

class Scatter : public torch::autograd::Function<Scatter> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& rows, const Tensor& places,
                        std::int64_t count) {
    context->save_for_backward({places});
    const Tensor found = at::empty({count, rows.size(1)}, rows.options());
    zero_other_rows(found, places);
    put_rows(rows.contiguous(), places, found);
    return found;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gather_rows(gradients[0], context->get_saved_variables()[0]), {}, {}};
  }
};

}  // namespace

void take_rows(const Tensor& x, const Tensor& places, const Tensor& to) {
  if (!x.is_cpu()) {
    to.narrow(0, 0, places.size(0)).copy_(x.index_select(0, places));
    return;
  }
  const auto* const source = static_cast<const std::byte*>(x.const_data_ptr());
  auto* const target = static_cast<std::byte*>(to.mutable_data_ptr());
  for_rows(to, places, x, [&](std::int64_t row, std::int64_t place, std::int64_t bytes) {
    std::copy_n(source + place, bytes, target + row);
  });
}

void put_rows(const Tensor& rows, const Tensor& places, const Tensor& to) {
  if (!rows.is_cpu()) {
    to.index_copy_(0, places, rows.narrow(0, 0, places.size(0)));
    return;
  }
  const auto* const source = static_cast<const std::byte*>(rows.const_data_ptr());
  auto* const target = static_cast<std::byte*>(to.mutable_data_ptr());
  for_rows(rows, places, to, [&](std::int64_t row, std::int64_t place, std::int64_t bytes) {
    std::copy_n(source + row, bytes, target + place);
  });
}

void zero_other_rows(const Tensor& to, const Tensor& places) {
  if (!to.is_cpu()) {
    to.zero_();
    return;
  }
  std::vector<bool> other(static_cast<std::size_t>(to.size(0)), true);
  const auto* const place = places.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < places.size(0); ++i) other[static_cast<std::size_t>(place[i])] = false;
  const std::int64_t bytes = to.size(1) * static_cast<std::int64_t>(to.element_size());
  auto* const target = static_cast<std::byte*>(to.mutable_data_ptr());
  const std::int64_t grain = std::max<std::int64_t>(1, kBytes / std::max<std::int64_t>(1, bytes));
  at::parallel_for(0, to.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t first = row;
      while (row < end && other[static_cast<std::size_t>(row)]) ++row;
      std::fill_n(target + first * bytes, (row - first) * bytes, std::byte{0});
    }
  });
}

Tensor gather_rows(const Tensor& x, const Tensor& places) { return Gather::apply(x, places); }

Tensor scatter_rows(const Tensor& rows, const Tensor& places, std::int64_t count) {
  return Scatter::apply(rows, places, count);
}

}  // namespace sentencode::nn
