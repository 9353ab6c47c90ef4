// Targets and losses of logistic regressions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

constexpr double kNever = -1e15;  // intercept of a class without rows; its square fits float32

/// Targets, and losses of scores [n, p, K] of p problems; K is 1 for two classes.
class Targets {
 public:
  Targets(const LogisticProblems& problems, std::int64_t rows);

  std::int64_t outputs() const { return classes_ == 2 ? 1 : classes_; }  // K
  const at::Tensor& labels() const { return labels_; }                   // undefined for soft targets

  /// Losses [rows, p]. z := gradient of their sum with respect to z, the residuals [rows, p, K].
  at::Tensor losses(at::Tensor& z, std::int64_t begin, std::int64_t end) const;
  /// Sums of the targets of some rows, or of all, for each class [classes].
  at::Tensor shares(const at::Tensor& index) const;
  /// Whether masked rows have each class: mask [n, p] -> [p, K], or undefined if all do.
  at::Tensor present(const at::Tensor& mask) const;
  /// Scores [n, p, K] -> int16 [p, n]
  at::Tensor predictions(const at::Tensor& z) const;

 private:
  std::int64_t classes_;
  at::Tensor labels_;  // [n]
  at::Tensor right_;   // [n, 1] or [n, K]
};

}  // namespace sentencode::logistic
