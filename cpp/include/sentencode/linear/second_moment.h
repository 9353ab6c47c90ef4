#pragma once

#include <cstdint>

#include "sentencode/dense.h"

namespace sentencode {

/// The sum of e e^T over rows e [d], not centred, from which their leading directions are computed.
class SecondMoment {
 public:
  explicit SecondMoment(std::int64_t dim) : sum_(MatrixD::Zero(dim, dim)) {}
  SecondMoment(MatrixD sum,
               std::int64_t count);  // InvalidInput unless square, finite and symmetric

  /// Zero rows (empty sentences) are not counted.
  void add(const ConstRef<float>& rows);
  void merge(const SecondMoment& other);

  std::int64_t dim() const { return sum_.rows(); }
  std::int64_t count() const { return count_; }
  const MatrixD& sum() const { return sum_; }

  /// All d right singular vectors of the rows, as rows, and the squared singular values.
  Spectrum<double> directions() const { return eigh(sum_); }

 private:
  MatrixD sum_;
  std::int64_t count_ = 0;
};

}  // namespace sentencode
