// How batches of logistic regressions move.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evaluation/logistic/batch.h"
#include "evaluation/logistic/design.h"
#include "evaluation/logistic/targets.h"

namespace sentencode::logistic {

/// Where a batch can go along d: to weights w + length d, whose scores are z + length dz.
struct Line {
  at::Tensor w, z;  // [p, K, D], [n, p, K], where it begins
  at::Tensor d;     // [p, K, D]
  at::Tensor dz;    // [n, p, K], X d, once `advance` has made it
};

/// The three ways to a point: each leaves a batch with its scores, objective and gradient there, which takes
/// one pass over the rows.
class Objective {
 public:
  Objective(const Design& x, const Targets& targets) : x_(x), targets_(targets) {}

  /// At the weights that the batch has. `alike`: all its problems have the same, and train on the same rows,
  /// so that one's scores are those of all.
  void place(Batch& batch, bool alike = false) const;
  /// To the line's end, by its whole d. Returns how far that changes a problem's scores at most [p]; 0 for
  /// all of them, if it is no more than kReach for any.
  at::Tensor advance(Batch& batch, Line& line) const;
  /// To a part [p] of the line, after `advance`: scores are linear in it, and need no further product.
  void shorten(Batch& batch, const Line& line, const at::Tensor& length) const;

  /// Scores and objective of the weights as they are, without what rounding added to the steps'.
  void settle(Batch& batch) const;

  static constexpr double kReach = 30;  // how much a step may change a score

 private:
  template <typename Scores, typename Weights>
  void pass(Batch& batch, std::int64_t p, const Scores& scores, const Weights& weights) const;

  const Design& x_;
  const Targets& targets_;
};

}  // namespace sentencode::logistic
