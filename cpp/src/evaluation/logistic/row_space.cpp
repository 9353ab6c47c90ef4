#include "evaluation/logistic/row_space.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "evaluation/logistic/design.h"
#include "evaluation/logistic/parallel.h"

namespace sentencode::logistic {

using at::Tensor;

std::optional<RowSpace> RowSpace::of(const Features& features, const LogisticProblems& problems) {
  const Tensor trained = problems.folds.any(0).nonzero().squeeze(1);
  const auto n = static_cast<double>(features.rows()), d = static_cast<double>(features.dim());
  const auto m = static_cast<double>(trained.size(0)), p = static_cast<double>(problems.fold.size(0));
  // A decomposition has a third of the speed of a product.
  const double cost = 3 * (6 * d * m * m + 20 * m * m * m) + 2 * n * d * m;
  const double iterations = 60 * n * p, hessians = 6 * (2 * m * (d + m) + (d * d + d * m + m * m) / 3);
  if (m >= d || cost > (d - m) * (iterations + hessians)) return std::nullopt;
  return RowSpace(features, trained);
}

RowSpace::RowSpace(const Features& features, const Tensor& trained)
    : coordinates_(at::empty({0, 1}, at::kFloat)) {
  const Tensor rows = features.rows_at(trained);  // [m, d]
  TORCH_CHECK_VALUE(rows.isfinite().all().item<bool>(), "features must be finite");
  mean_ = rows.mean(0);
  const auto [u, s, vt] = at::linalg_svd(rows - mean_, /*full_matrices=*/false);
  const auto rank = std::max<std::int64_t>(1, (s > 1e-6 * s.max()).sum().item<std::int64_t>());
  basis_ = vt.slice(0, 0, rank).t();  // [d, rank]
  Tensor coordinates = at::empty({features.rows(), rank}, rows.options());
  for (std::int64_t begin = 0; begin < features.rows(); begin += kRowsOfBlock) {
    const std::int64_t end = std::min(features.rows(), begin + kRowsOfBlock);
    Tensor out = coordinates.slice(0, begin, end);
    at::mm_out(out, features.block(begin, end) - mean_, basis_);
  }
  coordinates_ = Features(coordinates);
}

void RowSpace::restore(LogisticSolutions& solutions) const {
  solutions.weights = at::matmul(solutions.weights, basis_.t());
  solutions.intercepts = uncentred(solutions.intercepts, solutions.weights, mean_);
}

}  // namespace sentencode::logistic
