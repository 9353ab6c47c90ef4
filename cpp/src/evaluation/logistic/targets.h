// What logistic regressions are fitted to, and their losses.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

constexpr double kNever = -1e15;  // intercept of a class that no row has: float32 holds its square

/// What is right, and how wrong scores are. Scores are [n, p, K] of p problems; K is 1 for two classes.
class Targets {
 public:
  Targets(const LogisticProblems& problems, std::int64_t rows);

  std::int64_t outputs() const { return classes_ == 2 ? 1 : classes_; }  // K
  const at::Tensor& labels() const { return labels_; }                   // undefined for soft targets

  /// Losses [rows, p]; z becomes what their sum's gradient has for it: residuals [rows, p, K].
  at::Tensor losses(at::Tensor& z, std::int64_t begin, std::int64_t end) const;
  /// How much of some rows, or of all of them, belongs to each class [classes].
  at::Tensor shares(const at::Tensor& index) const;
  /// Which classes rows have that count: mask [n, p] -> [p, K], or undefined where that is all of them.
  at::Tensor present(const at::Tensor& mask) const;
  /// Scores [n, p, K] -> int16 [p, n]
  at::Tensor predictions(const at::Tensor& z) const;

 private:
  std::int64_t classes_;
  at::Tensor labels_;  // [n]
  at::Tensor right_;   // [n, 1] or [n, K]
};

}  // namespace sentencode::logistic
