#include "sentencode/evaluation/logistic.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>

#include "evaluation/logistic/design.h"
#include "evaluation/logistic/parallel.h"
#include "evaluation/logistic/row_space.h"
#include "evaluation/logistic/solver.h"
#include "evaluation/logistic/targets.h"

namespace sentencode {
namespace {

using at::Tensor;
using logistic::kNever;
using logistic::kRowsOfBlock;
using logistic::RowSpace;
using logistic::Targets;

void check(const LogisticProblems& problems, const Tensor& labels, std::int64_t n) {
  const auto& [t, classes, folds, fold, penalties] = problems;
  TORCH_CHECK_VALUE(n > 0, "there are no rows to fit to");
  TORCH_CHECK_VALUE(folds.dim() == 2 && folds.scalar_type() == at::kBool && folds.size(1) == n,
                    "folds must be bool [F, ", n, "], got ", folds.dtype(), " ", folds.sizes());
  TORCH_CHECK_VALUE(fold.dim() == 1 && fold.scalar_type() == at::kLong, "fold must be int64 [P], got ",
                    fold.dtype(), " ", fold.sizes());
  TORCH_CHECK_VALUE(penalties.scalar_type() == at::kDouble && penalties.sizes() == fold.sizes(),
                    "penalties must be float64 ", fold.sizes(), ", got ", penalties.dtype(), " ",
                    penalties.sizes());
  if (fold.numel() > 0) {
    TORCH_CHECK_VALUE(fold.min().item<std::int64_t>() >= 0 && fold.max().item<std::int64_t>() < folds.size(0),
                      "fold must hold numbers of folds, 0 to ", folds.size(0) - 1);
    TORCH_CHECK_VALUE(((penalties > 0) & penalties.isfinite()).all().item<bool>(),
                      "penalties must be positive and finite");
  }
  for (std::int64_t f = 0; f < folds.size(0); ++f) {
    const Tensor rows = folds[f].nonzero().squeeze(1);
    TORCH_CHECK_VALUE(rows.numel() > 0, "fold ", f, " has no rows to train on");
    if (!labels.defined()) continue;
    const Tensor trained = labels.index_select(0, rows);
    TORCH_CHECK_VALUE(trained.min().item<std::int64_t>() < trained.max().item<std::int64_t>(), "fold ", f,
                      " trains on one class alone: it must have two or more");
  }
}

/// Solves without the rows outside of all folds, and then predicts them.
LogisticSolutions fit(const Features& features, const LogisticProblems& problems,
                      const LogisticOptions& options) {
  const auto solve = [&](const Features& rows, const LogisticProblems& trained_problems,
                         const std::optional<Features>& others) {
    const Targets targets(trained_problems, rows.rows());
    return logistic::solve(logistic::Design(rows, options.max_bytes), targets, trained_problems, options,
                           others);
  };
  const Tensor used = problems.folds.any(0);  // [n]
  const Tensor trained = used.nonzero().squeeze(1), others = used.logical_not().nonzero().squeeze(1);
  if (problems.fold.numel() == 0 || others.numel() == 0) return solve(features, problems, std::nullopt);
  LogisticProblems trained_problems = problems;
  trained_problems.targets = problems.targets.index_select(0, trained);
  trained_problems.folds = problems.folds.index_select(1, trained);
  LogisticSolutions solutions = solve(features.part(trained), trained_problems, features.part(others));
  solutions.predictions = solutions.predictions.index_select(1, at::cat({trained, others}).argsort());
  return solutions;
}

/// Factors of C for each problem [P], 1 or 0.5. scikit-learn drops classes that do not occur in a fold. If
/// two are left, it has one row of weights u. Here they are -u / 2 and u / 2, whose squared norm is half of
/// it: with C / 2, the problem is the same, with half the objective.
Tensor halves(const LogisticProblems& problems, const Targets& targets) {
  const Tensor whole = at::ones_like(problems.penalties);
  const Tensor present = targets.present(problems.folds.t().to(at::kFloat));  // [F, K]
  if (!present.defined()) return whole;
  return whole.masked_fill(present.sum(1).index_select(0, problems.fold) == 2, 0.5);
}

/// The largest element of each gradient [P], as for `tolerance`: in float64, of the original columns and the
/// rounded weights that are returned.
Tensor last_gradients(const Features& features, const LogisticProblems& problems, const Targets& targets,
                      const LogisticSolutions& solutions, const std::function<void()>& on_block) {
  const Tensor w = solutions.weights.to(at::kDouble);
  const std::int64_t p = w.size(0), k = w.size(1), d = w.size(2), n = features.rows();
  const Tensor flat = w.view({p * k, d}).t();  // [d, p K]
  // Finite, as rows of classes outside of the fold, which have weight zero, would become NaN.
  const Tensor intercepts = solutions.intercepts.clamp_min(kNever).view({1, p * k});
  Tensor slopes = at::zeros({p * k, d}, w.options()), raised = at::zeros({p, k}, w.options());
  const std::int64_t few = std::clamp<std::int64_t>((1 << 22) / (d + 2 * p * k), 64, kRowsOfBlock);
  for (std::int64_t begin = 0; begin < n; begin += few) {
    const std::int64_t end = std::min(n, begin + few);
    const Tensor mask = problems.folds.slice(1, begin, end).index_select(0, problems.fold).t();  // [b, p]
    const Tensor x = features.block(begin, end).to(at::kDouble);                                 // [b, d]
    Tensor r = at::addmm(intercepts, x, flat).view({-1, p, k});
    targets.losses(r, begin, end);
    r.mul_(mask.unsqueeze(2));
    slopes.addmm_(r.view({-1, p * k}).t(), x);
    raised += r.sum(0);
    on_block();
  }
  slopes = slopes.view({p, k, d}) + w / problems.penalties.view({-1, 1, 1});
  const Tensor most = at::maximum(slopes.abs().amax({1, 2}), raised.abs().amax(1));
  return (most / problems.folds.sum(1).index_select(0, problems.fold)).to(at::kFloat);
}

}  // namespace

LogisticSolutions fit_logistic(const Features& features, const LogisticProblems& problems,
                               const LogisticOptions& options) {
  TORCH_CHECK_VALUE(options.tolerance > 0 && options.gap > 0, "tolerance and gap must be positive, got ",
                    options.tolerance, " and ", options.gap);
  TORCH_CHECK_VALUE(options.max_iterations >= 1, "max_iterations must be at least 1, got ",
                    options.max_iterations);
  LogisticSolutions solutions = [&] {
    const c10::InferenceMode guard;
    const Targets targets(problems, features.rows());
    check(problems, targets.labels(), features.rows());
    const Tensor factors = halves(problems, targets);
    LogisticProblems posed = problems;
    posed.penalties = problems.penalties * factors;
    LogisticSolutions fitted;
    if (const auto space = RowSpace::of(features, posed)) {
      fitted = fit(space->features(), posed, options);
      space->restore(fitted);
    } else {
      fitted = fit(features, posed, options);
    }
    fitted.objectives /= factors;
    if (const std::int64_t solved = factors.numel(); solved > 0) {
      // This takes seconds for half a million rows.
      fitted.gradients = last_gradients(features, posed, targets, fitted, [&] {
        if (options.on_progress) options.on_progress(solved, solved);
      });
    }
    return fitted;
  }();
  // Inference tensors could not be used in autograd.
  for (Tensor* t : {&solutions.weights, &solutions.intercepts, &solutions.predictions, &solutions.objectives,
                    &solutions.gradients, &solutions.gaps, &solutions.iterations}) {
    *t = t->clone();
  }
  return solutions;
}

}  // namespace sentencode
