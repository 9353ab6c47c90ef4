#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "sentencode/evaluation/features.h"

namespace sentencode {

/// Many logistic regressions on the same rows, which differ in the rows that they are trained on and in their
/// penalty. Problem p minimises, over weights w and intercepts b of the classes,
///
///   f_p(w, b) = C_p sum over rows i of fold_p of loss(w x_i + b, target_i) + 1/2 |w|^2,
///
/// as scikit-learn does: with two classes the loss of one logistic function, with more the cross-entropy of a
/// softmax; intercepts are not penalised. A class that no row of the fold has is left out.
struct LogisticProblems {
  /// int64 [n], the classes' numbers; or float [n, K], how much of a row belongs to each class (K > 2).
  at::Tensor targets;
  std::int64_t classes = 0;
  at::Tensor folds;      // bool [F, n], the rows to train on
  at::Tensor fold;       // int64 [P], the problem's fold
  at::Tensor penalties;  // float64 [P], C
};

struct LogisticOptions {
  /// Of the gradient's largest element, divided by C and the number of rows: scikit-learn's `tol`. What
  /// float32 cannot reach is not waited for: the solutions' gradients tell.
  double tolerance = 1e-5;
  /// Of how far the objective can be above its least value, relative to it, as Newton's step estimates it; or
  /// relative to a ten-thousandth of what it is at zero weights, where that is more.
  double gap = 1e-7;
  std::int64_t max_iterations = 500;
  /// Features larger than this are made anew, block by block, whenever they are used.
  std::int64_t max_bytes = std::int64_t{4} << 30;
  /// After each iteration: problems solved, problems there are. May throw, to stop.
  std::function<void(std::int64_t, std::int64_t)> on_progress;
};

struct LogisticSolutions {
  at::Tensor weights;      // float32 [P, K, d]; two classes have one row of weights, for the second of them
  at::Tensor intercepts;   // float64 [P, K]; -infinity for a class that the fold lacks
  at::Tensor predictions;  // int16 [P, n], of all rows, also those that were not trained on
  at::Tensor objectives;   // float64 [P]
  at::Tensor gradients;    // float32 [P], as `tolerance` measures them; of these weights, in float64
  at::Tensor gaps;         // float32 [P], as `gap` measures them
  at::Tensor iterations;   // int64 [P]
};

/// Solves them all together: an iteration goes through the rows once, block by block, and of each block the
/// scores of all problems are one product and their gradients another.
///
/// Problems of the same C have nearly the same Hessian, which differs by the rows that a fold leaves out. So
/// each C is solved for the rows of all folds first, where there are several; its solution is where the folds
/// begin, and its Hessian, factorised once, preconditions L-BFGS for all of them. One fold of many rows
/// begins with few of them. Rows that no fold trains on are only predicted, in the end. Where fewer rows are
/// trained on than there are columns, their singular vectors take the columns' place. None of it changes
/// where the problems end: the objective is strictly convex.
LogisticSolutions fit_logistic(const Features& features, const LogisticProblems& problems,
                               const LogisticOptions& options = {});

}  // namespace sentencode
