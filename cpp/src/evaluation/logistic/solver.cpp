#include "evaluation/logistic/solver.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "evaluation/logistic/batch.h"
#include "evaluation/logistic/memory.h"
#include "evaluation/logistic/objective.h"
#include "evaluation/logistic/parallel.h"
#include "evaluation/logistic/preconditioner.h"

namespace sentencode::logistic {
namespace {

using at::Tensor;

constexpr std::int64_t kFirst = 32;   // rows per column of the first sample
constexpr std::int64_t kOthers = 64;  // rows per column for a better Hessian
constexpr double kRounded = 1e-9;     // relative precision of an objective in float32
constexpr double kMisled = 3;         // ratio of objectives at which the solution of the sample is discarded
constexpr int kTries = 12;            // of shorter steps
constexpr std::int64_t kRound = 60;   // iterations until Hessians are recomputed
constexpr std::int64_t kPatience = 15;  // iterations without a smaller gradient near the optimum
constexpr double kSurely =
    0.7;  // fraction of the tolerance, so that it also holds in float64 with any kernel

/// Initial points.
struct Start {
  Tensor w;  // [G, K, D] for each C, or [1, K, D]
  Factors factors;
  double expected = std::numeric_limits<double>::infinity();  // approximate objective there
};

struct Effort {
  double tolerance, gap;
  std::int64_t max_iterations;
  std::function<void(std::int64_t)>
      on_iteration;  // called with the number of newly solved problems; may throw
};

/// Removes directions that do not change the loss from steps, in which rounding errors would accumulate: a
/// shift of all intercepts, and changes of classes without rows.
void balance(const Tensor& d, const Tensor& present) {  // [p, K, D], [p, K] or undefined
  if (d.size(1) == 1) return;
  Tensor intercepts = d.select(2, -1);
  if (!present.defined()) {
    intercepts.sub_(intercepts.mean(1, /*keepdim=*/true));
    return;
  }
  d.mul_(present.unsqueeze(2));
  intercepts.sub_(present * (intercepts.sum(1, /*keepdim=*/true) / present.sum(1, /*keepdim=*/true)));
}

class Solver {
 public:
  Solver(Design x, const Targets& targets, const LogisticProblems& problems, const LogisticOptions& options)
      : Solver(std::move(x), targets, problems, options,
               // Problems are sorted into groups by C.
               at::_unique2(problems.penalties, /*sorted=*/true, /*return_inverse=*/true)) {}
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  LogisticSolutions solve(const std::optional<Features>& others) const {
    const std::int64_t p = problems_.fold.size(0);
    LogisticSolutions solutions = nothing(p);
    if (p > 0) {
      const bool shared = problems_.folds.size(0) > 1;  // by problems with different rows
      std::int64_t solved = 0;
      const auto progress = [&](std::int64_t more) {
        solved += more;
        if (options_.on_progress) options_.on_progress(solved, p);
      };
      const auto unsolved = [&](std::int64_t) { progress(0); };
      Start start = shared       ? begin(unsolved)
                    : few_tell() ? begin_with_few(unsolved)
                                 : Start{zeros(1), hessians_.bounds()};
      const Effort effort{options_.tolerance, options_.gap, options_.max_iterations, progress};
      // As many at once as fit in memory with a few copies of their scores.
      const std::int64_t bytes = x_.rows() * outputs() * 4 * 6;
      const std::int64_t at_once = std::max<std::int64_t>(1, options_.max_bytes / bytes);
      const Tensor order = group_.argsort(/*stable=*/true, 0, false);
      for (std::int64_t first = 0; first < p; first += at_once) {
        const Tensor index = order.slice(0, first, first + at_once);
        const Tensor group = group_.index_select(0, index);
        const auto begun = [&] {
          return batch_of(index, group, problems_.fold.index_select(0, index), problems_.folds,
                          start.w.size(0) == 1 ? start.w : start.w.index_select(0, group));
        };
        Batch batch = begun();
        const double expected = std::max(start.expected, batch.least.max().item<double>());
        if (!(batch.f.min().item<double>() <= kMisled * expected)) {
          start = {zeros(1), hessians_.bounds()};  // the sample was easier than the rest
          batch = begun();
        }
        finish(std::move(batch), start.factors, effort, solutions);
      }
      if (others)
        solutions.predictions = at::cat({solutions.predictions, predictions(*others, solutions.weights)}, 1);
    }
    const Tensor whole = solutions.weights, intercepts = whole.select(2, -1);
    solutions.weights = whole.slice(2, 0, -1) / x_.deviation();
    solutions.intercepts = uncentred(intercepts, solutions.weights, x_.mean());
    solutions.intercepts.masked_fill_(intercepts <= 0.5 * kNever, -std::numeric_limits<double>::infinity());
    return solutions;
  }

 private:
  Solver(Design x, const Targets& targets, const LogisticProblems& problems, const LogisticOptions& options,
         const std::tuple<Tensor, Tensor, Tensor>& unique)
      : options_(options),
        x_(std::move(x)),
        targets_(targets),
        problems_(problems),
        objective_(x_, targets_),
        slope_(at::cat({x_.deviation(), x_.mean().new_ones(1)})),
        shift_(at::cat({x_.mean(), x_.mean().new_zeros(1)})),
        // 1/2 |w|^2 for the original columns.
        penalty_(at::cat(
            {x_.deviation().to(at::kDouble).square().reciprocal(), x_.mean().new_zeros(1).to(at::kDouble)})),
        cs_(std::get<0>(unique)),
        group_(std::get<1>(unique)),
        hessians_(x_, targets_.outputs(), problems_, cs_, penalty_, options.max_bytes) {}

  std::int64_t outputs() const { return targets_.outputs(); }
  std::int64_t rows() const { return x_.rows(); }

  Tensor zeros(std::int64_t p) const {  // [p, K, D]
    return at::zeros({p, outputs(), x_.columns()}, x_.mean().options());
  }

  LogisticSolutions nothing(std::int64_t p) const {
    const auto floats = x_.mean().options();
    LogisticSolutions solutions;
    solutions.weights = zeros(p);
    solutions.predictions = at::zeros({p, rows()}, floats.dtype(at::kShort));
    solutions.objectives = at::zeros({p}, floats.dtype(at::kDouble));
    solutions.gradients = at::zeros({p}, floats);
    solutions.gaps = at::zeros({p}, floats);
    solutions.iterations = at::zeros({p}, floats.dtype(at::kLong));
    return solutions;
  }

  /// A batch of some problems, with weights w [p, K, D], or [1, K, D] for all.
  Batch batch_of(const Tensor& index, const Tensor& group, const Tensor& fold, const Tensor& folds,
                 const Tensor& w) const {
    Batch batch;
    batch.index = index;
    batch.group = group;
    // Columns so small that their penalty overflows float32 have nearly zero weights with this one, too.
    batch.penalty =
        (penalty_ / cs_.index_select(0, group).unsqueeze(1)).clamp_max_(1e30).to(at::kFloat).unsqueeze(1);
    batch.mask = folds.index_select(0, fold).t().to(at::kFloat).contiguous();
    batch.count = batch.mask.sum(0);
    batch.least = 1e-4 * std::log(static_cast<double>(problems_.classes)) * batch.count.to(at::kDouble);
    batch.smallest = at::full_like(batch.count, std::numeric_limits<float>::infinity());
    batch.waited = at::zeros_like(batch.count);
    batch.w = w.expand({group.size(0), -1, -1}).contiguous();
    batch.present = targets_.present(batch.mask);
    if (batch.present.defined()) {  // as if classes without rows did not exist
      batch.w = batch.w * batch.present.unsqueeze(2);
      batch.w.select(2, -1).masked_fill_(batch.present == 0, kNever);
    }
    batch.find_ends(cs_.size(0));
    objective_.evaluate(batch, /*alike=*/w.size(0) == 1 && folds.size(0) == 1);
    return batch;
  }

  /// Solves every C on the rows of all folds.
  Start begin(const std::function<void(std::int64_t)>& on_iteration) const {
    const double trained = problems_.folds.to(at::kFloat).mean().item<double>();
    const Effort effort{10 * options_.tolerance, 10 * options_.gap, kRound, on_iteration};
    return start_at(all_together(effort).weights, trained);
  }

  /// Whether the sample is much smaller than all rows, and has all classes.
  bool few_tell() const {
    const std::int64_t first = kFirst * x_.columns();
    if ((kFirst + kOthers) * x_.columns() > rows() || 4 * first * x_.columns() > options_.max_bytes)
      return false;
    return (targets_.shares(hessians_.draw(kFirst)) > 0).equal(targets_.shares({}) > 0);
  }

  /// Solves the median C on a weighted sample: with so many rows, all C have nearly the same optimum and the
  /// same Hessian of the loss. The Hessian is then computed from other, more rows, on which the weights were
  /// not fitted, so that few iterations remain.
  Start begin_with_few(const std::function<void(std::int64_t)>& on_iteration) const {
    const Tensor first = hessians_.draw(kFirst), others = hessians_.draw(kOthers, kFirst);
    LogisticProblems few = problems_;
    few.targets = problems_.targets.index_select(0, first);
    few.folds = problems_.folds.new_ones({1, first.size(0)});
    few.fold = problems_.fold.new_zeros({1});
    few.penalties = cs_.slice(0, cs_.size(0) / 2, cs_.size(0) / 2 + 1) * hessians_.spread(first);
    const Targets targets(few, first.size(0));
    const Effort effort{1e-3, 1e-4, kRound, on_iteration};
    const LogisticSolutions solutions = Solver(x_.part(first), targets, few, options_).all_together(effort);
    return {solutions.weights, hessians_.common(solutions.weights[0], others),
            (solutions.objectives / few.penalties).item<double>() * hessians_.spread(first)};
  }

  /// Solves every C on all rows, without intercepts and predictions.
  LogisticSolutions all_together(const Effort& effort) const {
    const Tensor groups = at::arange(cs_.size(0), problems_.fold.options());
    LogisticSolutions solutions = nothing(groups.size(0));
    finish(batch_of(groups, groups, at::zeros_like(groups), problems_.folds.new_ones({1, rows()}), zeros(1)),
           hessians_.bounds(), effort, solutions);
    return solutions;
  }

  /// Solves with Hessians at weights w for problems that train on this fraction of the rows.
  Start start_at(Tensor w, double trained) const {
    const Tensor mask = at::full({rows()}, trained, w.options());
    Factors factors = hessians_.each([&](std::int64_t g) { return hessians_.hessian(w[g], mask, g); });
    return {std::move(w), std::move(factors)};
  }

  /// Iterates until all are solved, or max_iterations.
  void finish(Batch batch, Factors factors, const Effort& effort, LogisticSolutions& solutions) const {
    for (std::int64_t spent = 0;;) {
      batch = iterate(std::move(batch), factors, effort, spent, solutions);
      if (batch.size() == 0) return;
      // The shared factors are not good enough for the rest: recompute them at the current points.
      factors.lower.clear();  // frees memory
      factors = hessians_.each([&](std::int64_t g) {
        const auto at = static_cast<std::size_t>(g);
        const std::int64_t first = g == 0 ? 0 : batch.ends[at - 1], end = batch.ends[at];
        if (first == end) return Tensor();
        return hessians_.hessian(middle(batch, first, end), batch.mask.slice(1, first, end).mean(1), g);
      });
      objective_.evaluate(batch);
    }
  }

  /// Iterates until all are solved, or at most kRound times, or max_iterations, after which the batch is
  /// empty.
  Batch iterate(Batch batch, const Factors& factors, const Effort& effort, std::int64_t& spent,
                LogisticSolutions& solutions) const {
    Memory memory(/*trusted=*/factors.hessian);
    bool stuck = false;
    const std::int64_t begin = spent;
    for (const std::int64_t end = std::min(begin + kRound, effort.max_iterations);; ++spent) {
      Tensor d = at::empty_like(batch.w);                                              // [p, K, D]
      Tensor slope = at::empty_like(batch.f), steepest = at::empty_like(batch.count);  // [p]
      for_groups(batch, [&](std::size_t group, std::int64_t from, std::int64_t to) {
        const Tensor g = batch.g.slice(0, from, to);
        const Tensor here =
            memory.direction(from, to, g, [&](const Tensor& q) { return factors.solve(group, q); });
        balance(here, batch.present.defined() ? batch.present.slice(0, from, to) : Tensor());
        d.slice(0, from, to).copy_(here);
        slope.slice(0, from, to).copy_(inner_products(g, here).flatten());  // negative
        // For the original columns.
        const Tensor original = at::addcmul(g * slope_, g.slice(2, -1), shift_);
        steepest.slice(0, from, to).copy_(at::amax(original.abs(), {1, 2}));
      });
      steepest /= batch.count;
      // Newton's estimate assumes a quadratic, which the loss of confident rows is not.
      const Tensor doubt = (1000 * batch.least / batch.f).clamp_(1, 10);
      const Tensor above = (slope * doubt / at::maximum(batch.f, batch.least)).mul_(-0.5).to(at::kFloat);
      Tensor done = (steepest <= kSurely * effort.tolerance).logical_and_(above <= effort.gap);
      done.logical_or_(steepest <= 1e-5 * effort.tolerance);  // the precision of float32
      // Also stop if the gradient is only rounding errors.
      const Tensor smaller = steepest < 0.9 * batch.smallest;
      batch.smallest = at::minimum(batch.smallest, steepest);
      batch.waited.add_(1).masked_fill_(smaller, 0);
      done.logical_or_((batch.waited >= kPatience).logical_and_(above <= kRounded));
      const bool last = stuck || spent == end;
      if (stuck || spent == effort.max_iterations) done.fill_(true);
      // Solved problems stay in the batch until removing them is worthwhile.
      if (last || 4 * done.sum().item<std::int64_t>() >= done.size(0)) {
        const Tensor gone = done.nonzero().squeeze(1), left = done.logical_not().nonzero().squeeze(1);
        put_away(batch, gone, steepest, above, spent - begin, spent, solutions);
        batch.keep(left);
        memory.keep(left);
        d = d.index_select(0, left);
        slope = slope.index_select(0, left);
        effort.on_iteration(gone.numel());
      }
      if (last || batch.size() == 0) return batch;
      effort.on_iteration(0);
      // Only rounding errors are left: accept the current points.
      stuck = !step(batch, memory, d, slope);
    }
  }

  /// Line search along d for a sufficient decrease; false if there is none for any problem.
  bool step(Batch& batch, Memory& memory, const Tensor& d, const Tensor& slope) const {
    const Tensor before = batch.f, old = batch.g;
    Line line{.w = batch.w, .z = batch.z, .d = d, .dz = {}};
    const Tensor reach = objective_.advance(batch, line);
    // For confident rows the loss is flat, and a quadratic model is useless.
    const Tensor most = (Objective::kReach / reach.to(at::kDouble)).clamp_max(1);  // [p]
    Tensor length = at::ones_like(slope);
    for (int tries = 0;; ++tries) {
      // Differences within the precision of float32 are no increase; an overflow is one.
      const Tensor high = (batch.f <= before + 1e-4 * length * slope + 1e-7 * before).logical_not();
      const Tensor far = length > most;
      if (tries > kTries || !high.logical_or(far).any().item<bool>()) break;
      // Finally no step, if rounding errors are as large as the possible gain.
      length = at::where(high, tries < kTries ? length * 0.3 : at::zeros_like(length), length);
      length = at::where(far, most, length);
      objective_.shorten(batch, line, length.to(at::kFloat));
    }
    if (length.min().item<double>() < 1) memory.doubt();
    memory.push(batch.w);
    for_groups(batch, [&](std::size_t, std::int64_t first, std::int64_t end) {
      memory.fill(first, end, batch.w.slice(0, first, end) - line.w.slice(0, first, end),
                  batch.g.slice(0, first, end) - old.slice(0, first, end));
    });
    return length.max().item<double>() > 0;
  }

  /// Estimates rounding errors of scores to which the last `steps` steps were added.
  void put_away(Batch batch, const Tensor& gone, const Tensor& steepest, const Tensor& above,
                std::int64_t steps, std::int64_t spent, LogisticSolutions& solutions) const {
    if (gone.numel() == 0) return;
    batch.keep(gone);
    // Rounding errors grow with the square root of the number of terms.
    if (steps * steps > x_.columns()) objective_.settle(batch);
    solutions.weights.index_copy_(0, batch.index, batch.w);
    solutions.predictions.index_copy_(0, batch.index, targets_.predictions(batch.z));
    solutions.objectives.index_copy_(0, batch.index, batch.f * cs_.index_select(0, batch.group));
    solutions.gradients.index_copy_(0, batch.index, steepest.index_select(0, gone));
    solutions.gaps.index_copy_(0, batch.index, above.index_select(0, gone));
    solutions.iterations.index_fill_(0, batch.index, spent);
  }

  /// Predictions of rows outside of all folds: int16 [p, n]
  Tensor predictions(const Features& others, const Tensor& w) const {  // [p, K, D]
    const std::int64_t p = w.size(0), n = others.rows();
    const std::int64_t few = std::clamp<std::int64_t>((1 << 24) / (p * outputs()), 64, kRowsOfBlock);
    const Tensor flat = w.reshape({p * outputs(), -1}).t();  // [D, p K]
    Tensor classes = at::empty({p, n}, w.options().dtype(at::kShort));
    for (std::int64_t begin = 0; begin < n; begin += few) {
      const std::int64_t end = std::min(n, begin + few);
      const Tensor x = x_.augmented(others.block(begin, end));  // [b, D]
      check_finite(x);
      classes.slice(1, begin, end).copy_(targets_.predictions(x.mm(flat).view({-1, p, outputs()})));
    }
    return classes;
  }

  const LogisticOptions& options_;
  const Design x_;
  const Targets& targets_;
  const LogisticProblems& problems_;
  const Objective objective_;
  Tensor slope_;    // [D], factors of the gradient for the original columns
  Tensor shift_;    // [D], multiples of the intercept's gradient that undo the centring
  Tensor penalty_;  // [D] double, of squared weights, for C = 1; the intercept has none
  Tensor cs_;       // [G], distinct values of C
  Tensor group_;    // [P], index of C among them
  const Hessians hessians_;
};

}  // namespace

LogisticSolutions solve(Design x, const Targets& targets, const LogisticProblems& problems,
                        const LogisticOptions& options, const std::optional<Features>& others) {
  return Solver(std::move(x), targets, problems, options).solve(others);
}

}  // namespace sentencode::logistic
