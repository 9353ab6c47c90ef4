#pragma once

#include <cstdint>

#include "sentencode/dense.h"

namespace sentencode {

/// The sum of e e^T over rows e [d], not centred: all that the leading directions of any number of sentence
/// vectors depend on. Sums of parts are the sum of the whole, so that it streams and merges.
class SecondMoment {
 public:
  explicit SecondMoment(std::int64_t dim) : sum_(MatrixD::Zero(dim, dim)) {}
  SecondMoment(MatrixD sum,
               std::int64_t count);  // as saved; InvalidInput unless square, finite and symmetric

  /// Rows that are zero (empty sentences) are not counted.
  void add(const ConstRef<float>& rows);
  void merge(const SecondMoment& other);

  std::int64_t dim() const { return sum_.rows(); }
  std::int64_t count() const { return count_; }
  const MatrixD& sum() const { return sum_; }

  /// The singular value decomposition of the rows: all d right singular vectors as rows, and the squares of
  /// the singular values. Exact, by the eigenpairs of the sum.
  Spectrum<double> directions() const { return eigh(sum_); }

 private:
  MatrixD sum_;
  std::int64_t count_ = 0;
};

}  // namespace sentencode
