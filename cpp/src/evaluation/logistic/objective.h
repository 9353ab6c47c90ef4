// Objective and line search of batches of logistic regressions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evaluation/logistic/batch.h"
#include "evaluation/logistic/design.h"
#include "evaluation/logistic/targets.h"

namespace sentencode::logistic {

/// A line from the point of a batch: weights w + length d, with scores z + length dz.
struct Line {
  at::Tensor w, z;  // [p, K, D], [n, p, K], the start
  at::Tensor d;     // [p, K, D]
  at::Tensor dz;    // [n, p, K], X d, computed by `advance`
};

/// Three ways to move to a point. Each computes scores, objective and gradient there in one pass over the
/// rows.
class Objective {
 public:
  Objective(const Design& x, const Targets& targets) : x_(x), targets_(targets) {}

  /// At the weights of the batch. alike: All problems have the same weights and training rows, so that scores
  /// are computed once.
  void evaluate(Batch& batch, bool alike = false) const;
  /// To the end of the line. Returns the largest change of a score of each problem [p], or zeros if none
  /// exceeds kReach.
  at::Tensor advance(Batch& batch, Line& line) const;
  /// To a fraction [p] of the line, after `advance`: scores are linear, so that no product is needed.
  void shorten(Batch& batch, const Line& line, const at::Tensor& length) const;

  /// Scores and objective of the weights, without rounding errors that accumulated over steps.
  void settle(Batch& batch) const;

  static constexpr double kReach = 30;  // maximum change of a score by a step

 private:
  template <typename Scores, typename Weights>
  void pass(Batch& batch, std::int64_t p, const Scores& scores, const Weights& weights) const;

  const Design& x_;
  const Targets& targets_;
};

}  // namespace sentencode::logistic
