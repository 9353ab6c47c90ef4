#pragma once

#include <cstdint>
#include <functional>

#include "sentencode/dense.h"
#include "sentencode/vectors/sparse.h"

namespace sentencode {

struct SvdOptions {
  int iterations = 4;     // power iterations, of a product with A and one with A^T
  int oversampling = 32;  // additional directions of the subspace
  std::uint64_t seed = 20181111;
  std::function<void(std::int64_t done, std::int64_t total)> progress{};  // products with A or A^T
};

/// The dim largest singular values in descending order, and the left singular vectors as columns. Both are
/// zero beyond the rank. Each vector's component of largest absolute value is positive.
struct LeftSingular {
  Vector values;   // [dim]
  Matrix vectors;  // [rows, dim]
};

/// Randomised SVD: power iterations of a random subspace, then Rayleigh-Ritz (Halko, Martinsson and Tropp
/// 2011).
LeftSingular left_singular(const SparseMatrix& a, std::int64_t dim, const SvdOptions& options = {});

}  // namespace sentencode
