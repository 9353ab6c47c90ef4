#include "sentencode/linear/second_moment.h"

#include <utility>

#include "sentencode/error.h"

namespace sentencode {

SecondMoment::SecondMoment(MatrixD sum, std::int64_t count) : sum_(std::move(sum)), count_(count) {
  ST_CHECK(count_ >= 0, InvalidInput, "second moment: count must not be negative, got ", count_);
  ST_CHECK(sum_.rows() == sum_.cols(), InvalidInput, "second moment: must be square, got [", sum_.rows(),
           ", ", sum_.cols(), "]");
  ST_CHECK(sum_.allFinite() && sum_.isApprox(sum_.transpose(), 1e-6), InvalidInput,
           "second moment: must be finite and symmetric");
}

void SecondMoment::add(const ConstRef<float>& rows) {
  ST_CHECK(rows.cols() == dim(), InvalidInput, "second moment: rows must have ", dim(), " columns, got ",
           rows.cols());
  const MatrixD exact = rows.cast<double>();
  gemm(Op::transpose, Op::none, 1.0, exact, exact, 1.0, sum_);
  count_ += (rows.array() != 0).rowwise().any().count();
}

void SecondMoment::merge(const SecondMoment& other) {
  ST_CHECK(other.dim() == dim(), InvalidInput, "second moment: cannot merge ", other.dim(),
           " dimensions into ", dim());
  sum_ += other.sum_;
  count_ += other.count_;
}

}  // namespace sentencode
