#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "sentencode/evaluation/features.h"

namespace sentencode {

/// Many logistic regressions on the same features, with different training rows and penalties. Problem p
/// minimises, over weights w and intercepts b of the classes,
///
///   f_p(w, b) = C_p sum over rows i of fold_p of loss(w x_i + b, target_i) + 1/2 |w|^2,
///
/// as scikit-learn does: the logistic loss for two classes, the cross-entropy of a softmax for more;
/// intercepts are not penalised. Classes that do not occur in the fold are omitted.
struct LogisticProblems {
  /// int64 [n], class indices; or float [n, K], class probabilities (K > 2).
  at::Tensor targets;
  std::int64_t classes = 0;
  at::Tensor folds;      // bool [F, n], the rows to train on
  at::Tensor fold;       // int64 [P], the problem's fold
  at::Tensor penalties;  // float64 [P], C
};

struct LogisticOptions {
  /// Bound of the gradient's largest element, divided by C and the number of rows: scikit-learn's `tol`.
  /// Stops earlier where float32 is not precise enough, see LogisticSolutions::gradients.
  double tolerance = 1e-5;
  /// Bound of the objective's excess over its minimum, as estimated by Newton's step, relative to the
  /// objective or to 1e-4 of its value at zero weights, if that is larger.
  double gap = 1e-7;
  std::int64_t max_iterations = 500;
  /// Features larger than this are recomputed block by block whenever they are used.
  std::int64_t max_bytes = std::int64_t{4} << 30;
  /// Called after each iteration with the numbers of solved and of all problems. May throw, to stop.
  std::function<void(std::int64_t, std::int64_t)> on_progress;
};

struct LogisticSolutions {
  at::Tensor weights;      // float32 [P, K, d]; two classes have one row, of the second class
  at::Tensor intercepts;   // float64 [P, K]; -infinity for a class that the fold lacks
  at::Tensor predictions;  // int16 [P, n], of all rows
  at::Tensor objectives;   // float64 [P]
  at::Tensor gradients;    // float32 [P], as for `tolerance`, computed in float64
  at::Tensor gaps;         // float32 [P], as for `gap`
  at::Tensor iterations;   // int64 [P]
};

/// Solves all problems together: an iteration is one pass over the rows, block by block, with one product for
/// the scores of all problems and another for their gradients.
///
/// Problems of the same C have nearly the same Hessian. So each C is first solved for the rows of all folds,
/// if there are several; the solution initialises the folds, and its Hessian, factorised once, preconditions
/// L-BFGS for them. A single fold of many rows is first solved for few of them. Rows outside of all folds are
/// only predicted. With fewer training rows than columns, features are replaced by their singular vectors.
/// The solutions do not depend on any of this, as the objective is strictly convex.
LogisticSolutions fit_logistic(const Features& features, const LogisticProblems& problems,
                               const LogisticOptions& options = {});

}  // namespace sentencode
