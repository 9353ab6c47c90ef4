// Reduction of problems with more columns than rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "sentencode/evaluation/features.h"
#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

/// With fewer training rows than columns, optimal weights are linear combinations of the centred rows U S
/// V^T. So X is replaced by X V, which has no more columns than there are rows. The norm of weights does not
/// change.
class RowSpace {
 public:
  /// nullopt if it would not be faster.
  static std::optional<RowSpace> of(const Features& features, const LogisticProblems& problems);

  const Features& features() const { return coordinates_; }

  void restore(LogisticSolutions& solutions) const;  // to weights of the columns

 private:
  RowSpace(const Features& features, const at::Tensor& trained);

  at::Tensor mean_, basis_;
  Features coordinates_;
};

}  // namespace sentencode::logistic
