// A smaller problem in the place of one with more columns than rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "sentencode/evaluation/features.h"
#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

/// Where fewer rows are trained on than there are columns: the optimum's weights are sums of these rows, less
/// their mean. These are U S V^T; so V's coordinates X V, of which there are no more than rows, take the
/// place of X. Weights are as long in them as in the columns.
class RowSpace {
 public:
  /// Nothing where it would not be worth its products.
  static std::optional<RowSpace> of(const Features& features, const LogisticProblems& problems);

  const Features& features() const { return coordinates_; }

  void restore(LogisticSolutions& found) const;  // to weights of the columns

 private:
  RowSpace(const Features& features, const at::Tensor& trained);

  at::Tensor mean_, basis_;
  Features coordinates_;
};

}  // namespace sentencode::logistic
