#pragma once

#include <cstdint>
#include <functional>

#include "sentencode/dense.h"
#include "sentencode/vectors/sparse.h"

namespace sentencode {

struct SvdOptions {
  int iterations = 4;     // each sharpens the spectrum by a product with A and one with A^T
  int oversampling = 32;  // directions carried along beyond those asked for
  std::uint64_t seed = 20181111;
  std::function<void(std::int64_t done, std::int64_t total)> progress{};  // products with A or A^T
};

/// The dim largest singular values, falling, and their left vectors as columns. Beyond the rank both are
/// zero. Each vector's largest component in absolute value is positive.
struct LeftSingular {
  Vector values;   // [dim]
  Matrix vectors;  // [rows, dim]
};

/// Randomised: iterations of a random subspace, then Rayleigh-Ritz in it (Halko, Martinsson and Tropp 2011).
LeftSingular left_singular(const SparseMatrix& a, std::int64_t dim, const SvdOptions& options = {});

}  // namespace sentencode
