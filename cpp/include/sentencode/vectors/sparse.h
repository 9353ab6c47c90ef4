#pragma once

#include <cstdint>
#include <vector>

#include "sentencode/dense.h"

namespace sentencode {

/// A sparse matrix by rows: row r has values[k] in columns[k] for offsets[r] <= k < offsets[r + 1], in
/// ascending order of columns.
struct SparseMatrix {
  std::int64_t cols = 0;
  std::vector<std::int64_t> offsets{0};  // [rows + 1]
  std::vector<std::int32_t> columns;
  std::vector<float> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t nonzeros() const { return offsets.back(); }
};

SparseMatrix transposed(const SparseMatrix& a);

/// A x on all threads. Each row is summed by one thread, in order, so that the number of threads changes no
/// bit.
Matrix product(const SparseMatrix& a, const Matrix& x);

}  // namespace sentencode
