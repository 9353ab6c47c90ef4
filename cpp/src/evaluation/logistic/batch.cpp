#include "evaluation/logistic/batch.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "evaluation/logistic/parallel.h"

namespace sentencode::logistic {

using at::Tensor;

void Batch::keep(const Tensor& which) {
  for (Tensor* t : {&index, &group, &penalty, &count, &least, &smallest, &waited, &w, &f, &g}) {
    *t = t->index_select(0, which);
  }
  if (present.defined()) present = present.index_select(0, which);
  for (Tensor* t : {&mask, &z}) *t = t->index_select(1, which);
  find_ends(std::ssize(ends));
}

void Batch::find_ends(std::int64_t groups) {
  const Tensor sums = at::bincount(group, {}, groups).cumsum(0).cpu();
  ends.assign(sums.const_data_ptr<std::int64_t>(), sums.const_data_ptr<std::int64_t>() + groups);
}

void for_groups(const Batch& batch,
                const std::function<void(std::size_t, std::int64_t, std::int64_t)>& body) {
  const bool worth = batch.w.is_cpu() && 50 * static_cast<double>(batch.w.numel()) > kSmall;
  in_parallel(std::ssize(batch.ends), worth, [&](std::int64_t g) {
    const auto at = static_cast<std::size_t>(g);
    const std::int64_t begin = at == 0 ? 0 : batch.ends[at - 1], end = batch.ends[at];
    if (begin < end) body(at, begin, end);
  });
}

Tensor middle(const Batch& batch, std::int64_t begin, std::int64_t end) {
  const Tensor w = batch.w.slice(0, begin, end);
  if (!batch.present.defined()) return w.mean(0);
  const Tensor present = batch.present.slice(0, begin, end);
  return (w * present.unsqueeze(2)).sum(0) / present.sum(0).clamp_min(1).unsqueeze(1);
}

}  // namespace sentencode::logistic
