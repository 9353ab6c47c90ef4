#include "sentencode/evaluation/logistic.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sentencode/error.h"

namespace sentencode {
namespace {

using at::Tensor;

constexpr std::int64_t kRowsOfBlock = 16384;       // of features that are made anew
constexpr std::int64_t kNumbersOfBlock = 1 << 18;  // that a thread works on: they stay in its cache
constexpr std::int64_t kPieces = 16;               // of the rows, for as many threads at most
constexpr double kSmall = 1 << 22;                 // multiplications that are not worth a second thread
constexpr std::size_t kMemory = 8;                 // steps that L-BFGS remembers
constexpr std::int64_t kSample = 16;               // rows for each column: they tell a Hessian well enough
constexpr std::int64_t kFirst = 32;                // of them, that are worth beginning with
constexpr std::int64_t kOthers = 64;               // of them, that tell a Hessian better
constexpr std::int64_t kStrips = 4;                // that a symmetric product is made in
constexpr std::int64_t kCoupled = 4096;            // of K D at most: the Hessian of all classes together
constexpr double kRounded = 1e-9;                  // of an objective: float32 does not tell it from its least
constexpr double kMisled = 3;                      // times the objective that few rows made one expect
constexpr std::size_t kTrusted = 5;                // steps by a Hessian's factor as it is
constexpr double kReach = 30;                      // how much a step may change a score
constexpr int kTries = 12;                         // shorter steps, before there is none
constexpr std::int64_t kRound = 60;                // iterations until Hessians are made anew
constexpr std::int64_t kPatience = 15;             // iterations without a smaller gradient, near the optimum
constexpr double kSurely = 0.9;                    // of the tolerance: float64 shall find no more than that
constexpr double kNever = -1e15;  // intercept of a class that no row has: float32 holds its square

/// body(i) for all i < count, on all threads where the work is worth them.
template <typename Body>
void in_parallel(std::int64_t count, bool worth, const Body& body) {
  if (!worth || count < 2) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    const c10::InferenceMode guard;
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

void check_finite(const Tensor& of_features) {
  TORCH_CHECK_VALUE(of_features.isfinite().all().item<bool>(),
                    "features must be finite, and there are rows with NaN, infinity or very large numbers");
}

/// Intercepts [P, K] of rows whose mean was taken away before: w (x - mean) + b = w x + (b - w mean). In
/// double, and of the weights as they are rounded: what is wrong here is wrong for all rows alike, and would
/// be most of the gradient in the end.
Tensor uncentred(const Tensor& intercepts, const Tensor& weights, const Tensor& mean) {
  return intercepts - at::matmul(weights.to(at::kDouble), mean.to(at::kDouble));
}

/// The rows X [n, D], D = d + 1: centred, which changes intercepts alone, and divided by their columns'
/// deviations, which keeps float32's digits; and with a column of ones, whose weight is the intercept.
class Design {
 public:
  Design(Features features, std::int64_t max_bytes) : features_(std::move(features)) {
    const std::int64_t few = std::clamp<std::int64_t>(kNumbersOfBlock / columns(), 1, kRowsOfBlock);
    const Tensor guess = features_.block(0, std::min(rows(), few)).mean(0);  // [d]
    Tensor sum, squares;
    // One pass: squared distances from the mean of the first rows, less the square of what it is off.
    const auto moments = [&](at::ScalarType type) {
      sum = at::zeros({kPieces, features_.dim()}, guess.options().dtype(at::kDouble));
      squares = sum.clone();
      for_blocks(few, [&](std::int64_t piece, std::int64_t, const Tensor& block) {
        Tensor off = (block - guess).to(type);
        sum[piece] += off.sum(0);
        squares[piece] += off.square_().sum(0);
      });
    };
    moments(at::kFloat);
    if (!squares.isfinite().all().item<bool>()) moments(at::kDouble);  // float32 does not hold squares
    sum = sum.sum(0) / static_cast<double>(rows());
    check_finite(sum);
    mean_ = (guess + sum).to(at::kFloat);
    deviation_ =
        (squares.sum(0) / static_cast<double>(rows()) - sum.square()).clamp_min_(0).sqrt_().to(at::kFloat);
    // What is constant but for rounding, and what is nothing beside the other columns, is not made as large
    // as they are.
    const Tensor least = 1e-6 * at::maximum(mean_.abs(), deviation_.max());
    deviation_ = at::where(deviation_ <= least, deviation_.max(), deviation_);
    deviation_.masked_fill_(deviation_ == 0, 1);
    if (rows() * columns() * 4 > max_bytes) return;
    Tensor whole = at::empty({rows(), columns()}, mean_.options());
    for_blocks(few, [&](std::int64_t, std::int64_t begin, const Tensor& block) {
      augment(block, whole.slice(0, begin, begin + block.size(0)));
    });
    whole_ = std::move(whole);
  }

  std::int64_t rows() const { return whole_.defined() ? whole_.size(0) : features_.rows(); }
  std::int64_t columns() const { return features_.dim() + 1; }
  const Tensor& mean() const { return mean_; }            // [d]
  const Tensor& deviation() const { return deviation_; }  // [d]

  /// Into how many pieces `sweep` cuts the rows: by the problems alone, so that sums do not depend on
  /// threads.
  std::int64_t pieces(std::int64_t outputs) const {
    const double numbers = static_cast<double>(outputs * columns());
    const double most = std::min<double>(kPieces, (1 << 26) / numbers);  // each has sums of its own
    if (!whole_.defined() || !whole_.is_cpu()) return 1;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(rows()) * numbers / kSmall),
                                    1, std::max<std::int64_t>(2, static_cast<std::int64_t>(most)));
  }

  /// body(piece, begin, x [b, D]) for all rows, so many at once as stay in a cache with their `outputs`
  /// scores.
  template <typename Body>
  void sweep(std::int64_t outputs, const Body& body) const {
    if (!whole_.defined()) {
      for (std::int64_t begin = 0; begin < rows(); begin += kRowsOfBlock) {
        body(0, begin, augmented(features_.block(begin, std::min(rows(), begin + kRowsOfBlock))));
      }
      return;
    }
    if (!whole_.is_cpu()) return body(0, 0, whole_);
    const std::int64_t count = pieces(outputs),
                       few = std::max<std::int64_t>(64, kNumbersOfBlock / (columns() + outputs));
    in_parallel(count, true, [&](std::int64_t piece) {
      const std::int64_t last = rows() * (piece + 1) / count;
      for (std::int64_t begin = rows() * piece / count; begin < last; begin += few) {
        body(piece, begin, whole_.slice(0, begin, std::min(last, begin + few)));
      }
    });
  }

  Tensor rows_at(const Tensor& index) const {  // [m, D]
    if (whole_.defined()) return index.numel() == rows() ? whole_ : whole_.index_select(0, index);
    return augmented(features_.rows_at(index));
  }

  /// Some of the rows, centred and divided as all of them are.
  Design part(const Tensor& index) const {
    Design chosen = *this;
    chosen.whole_ = rows_at(index);
    return chosen;
  }

  Tensor augmented(const Tensor& block) const {  // [b, d] -> [b, D]
    Tensor out = at::empty({block.size(0), columns()}, block.options());
    augment(block, out);
    return out;
  }

 private:
  void augment(const Tensor& block, Tensor out) const {  // [b, d] -> [b, D]
    Tensor columns = out.slice(1, 0, -1);
    at::sub_out(columns, block, mean_).div_(deviation_);
    out.select(1, -1).fill_(1);
  }

  /// body(piece, begin, block) for all features, `size` rows at once, in kPieces pieces.
  template <typename Body>
  void for_blocks(std::int64_t size, const Body& body) const {
    const bool worth = features_.device().is_cpu() && static_cast<double>(rows() * columns()) > kSmall;
    in_parallel(kPieces, worth, [&](std::int64_t piece) {
      const std::int64_t last = rows() * (piece + 1) / kPieces;
      for (std::int64_t begin = rows() * piece / kPieces; begin < last; begin += size) {
        body(piece, begin, features_.block(begin, std::min(last, begin + size)));
      }
    });
  }

  Features features_;
  Tensor mean_, deviation_;
  Tensor whole_;  // [n, D], where it is small enough
};

/// What is right, and how wrong scores are. Scores are [n, p, K] of p problems; K is 1 for two classes.
class Targets {
 public:
  Targets(const LogisticProblems& problems, std::int64_t rows) : classes_(problems.classes) {
    const Tensor& t = problems.targets;
    TORCH_CHECK_VALUE(classes_ >= 2 && classes_ <= std::numeric_limits<std::int16_t>::max(),
                      "classes must be at least 2, got ", classes_);
    if (t.scalar_type() == at::kLong) {
      TORCH_CHECK_VALUE(t.dim() == 1 && t.size(0) == rows, "targets must be int64 [", rows, "], got ",
                        t.sizes());
      TORCH_CHECK_VALUE(
          rows == 0 || (t.min().item<std::int64_t>() >= 0 && t.max().item<std::int64_t>() < classes_),
          "targets must be classes, 0 to ", classes_ - 1);
      labels_ = t;
      if (classes_ == 2) right_ = t.to(at::kFloat).unsqueeze(1);  // [n, 1]
    } else {
      TORCH_CHECK_VALUE(
          t.is_floating_point() && t.dim() == 2 && t.size(0) == rows && t.size(1) == classes_ && classes_ > 2,
          "targets must be int64 [n], or floating point [n, classes] with at least 3 classes, got ",
          t.dtype(), " ", t.sizes());
      right_ = t.to(at::kFloat);
      TORCH_CHECK_VALUE(right_.isfinite().all().item<bool>(), "targets must be finite");
    }
  }

  std::int64_t outputs() const { return classes_ == 2 ? 1 : classes_; }  // K
  const Tensor& labels() const { return labels_; }                       // undefined for soft targets

  /// Losses [rows, p]; z becomes what their sum's gradient has for it: residuals [rows, p, K].
  Tensor losses(Tensor& z, std::int64_t begin, std::int64_t end) const {
    if (classes_ == 2) {
      const Tensor sign = 1 - 2 * right_.slice(0, begin, end);  // [rows, 1], 1 for the first class
      Tensor wrong = z.squeeze(2).mul_(sign);                   // how far on the other's side
      Tensor loss = at::softplus(wrong);
      wrong.sigmoid_().mul_(sign);
      return loss;
    }
    if (labels_.defined()) {
      // By how much the others together are above the right class: where it is sure, its share is nearly 1,
      // and has no digits left of what it lacks.
      const Tensor place = labels_.slice(0, begin, end).view({-1, 1, 1}).expand({-1, z.size(1), 1});
      z.sub_(z.gather(2, place)).scatter_(2, place, -std::numeric_limits<double>::infinity());
      const Tensor others = z.logsumexp(2, /*keepdim=*/true);  // [rows, p, 1]
      const Tensor wrong = others.sigmoid();
      z.sub_(others).exp_().mul_(wrong).scatter_(2, place, -wrong);
      return at::softplus(others.squeeze(2));
    }
    const Tensor log_p = at::log_softmax(z, 2);
    // What a row's targets sum to need not be 1: a score below the first class counts in part.
    const Tensor t = right_.slice(0, begin, end).unsqueeze(1);  // [rows, 1, K]
    Tensor loss = (log_p * t).sum(2).neg_();
    at::exp_out(z, log_p);
    z.mul_(t.sum(2, true)).sub_(t);
    return loss;
  }

  /// How much of some rows, or of all of them, belongs to each class [classes].
  Tensor shares(const Tensor& index) const {
    const auto some = [&](const Tensor& all) { return index.defined() ? all.index_select(0, index) : all; };
    return labels_.defined() ? at::bincount(some(labels_), {}, classes_) : some(right_).sum(0);
  }

  /// Which classes rows have that count: mask [n, p] -> [p, K], or undefined where that is all of them.
  Tensor present(const Tensor& mask) const {
    if (!labels_.defined() || classes_ == 2) return {};
    const Tensor counts = at::zeros({classes_, mask.size(1)}, mask.options()).index_add_(0, labels_, mask);
    return counts.min().item<float>() > 0 ? Tensor() : (counts > 0).to(at::kFloat).t().contiguous();
  }

  /// Scores [n, p, K] -> int16 [p, n]
  Tensor predictions(const Tensor& z) const {
    return (classes_ == 2 ? z.squeeze(2) > 0 : z.argmax(2)).to(at::kShort).t().contiguous();
  }

 private:
  std::int64_t classes_;
  Tensor labels_;  // [n]
  Tensor right_;   // [n, 1] or [n, K]
};

/// Some of the problems, each at a point of its own. Objectives are divided by C here, so that C is the
/// penalty's affair alone and may be as large as anybody wants.
struct Batch {
  Tensor index;                    // [p], among all problems
  Tensor group;                    // [p], which C; rising
  std::vector<std::int64_t> ends;  // for each C, where its problems end
  Tensor penalty;                  // [p, 1, D], 1 / C, and 0 for the intercept
  Tensor mask;                     // [n, p] float
  Tensor count;                    // [p], rows trained on
  Tensor least;     // [p] double: objectives below this are as good as 0, as they become of separable classes
  Tensor smallest;  // [p], of gradients so far
  Tensor waited;    // [p], iterations since there was one much smaller than those before
  Tensor w;         // [p, K, D]
  Tensor z;         // [n, p, K], scores
  Tensor f;         // [p] double, objective
  Tensor g;         // [p, K, D], gradient
  Tensor present;   // [p, K], 1 for the classes of rows trained on, else 0; undefined where it is 1 for all
  bool alike = false;  // all are at the same point yet, and train on the same rows

  std::int64_t size() const { return index.size(0); }
  void keep(const Tensor& which) {
    for (Tensor* t : {&index, &group, &penalty, &count, &least, &smallest, &waited, &w, &f, &g}) {
      *t = t->index_select(0, which);
    }
    if (present.defined()) present = present.index_select(0, which);
    for (Tensor* t : {&mask, &z}) *t = t->index_select(1, which);
    find_ends(std::ssize(ends));
  }
  void find_ends(std::int64_t groups) {
    const Tensor sums = at::bincount(group, {}, groups).cumsum(0).cpu();
    ends.assign(sums.const_data_ptr<std::int64_t>(), sums.const_data_ptr<std::int64_t>() + groups);
  }
};

/// Adds x^T y [D, D], which is symmetric, on the diagonal and below.
void add_product(const Tensor& x, const Tensor& y, Tensor sum) {  // [b, D], [b, D]
  const std::int64_t columns = x.size(1);
  for (std::int64_t i = 0; i < kStrips; ++i) {
    const std::int64_t from = columns * i / kStrips, to = columns * (i + 1) / kStrips;
    sum.slice(0, from, to).slice(1, 0, to).addmm_(x.slice(1, from, to).t(), y.slice(1, 0, to));
  }
}

Tensor inner_products(const Tensor& a, const Tensor& b) {  // [p, K, D], [p, K, D] -> [p, 1, 1]
  const std::int64_t p = a.size(0);
  return at::bmm(a.reshape({p, 1, -1}), b.reshape({p, -1, 1}));
}

/// L-BFGS's memory of steps s and of the gradient's changes y, for every problem of a batch. Problems
/// [begin, end) are worked on by themselves, some by each thread.
class Memory {
 public:
  /// `trusted`: what directions begin with is the inverse of the Hessian, as near as it is known; elsewhere
  /// the last step tells by which factor it is off. Near the optimum that is a worse guess, of one direction.
  explicit Memory(bool trusted) : trusted_(trusted) {}

  /// A step was too long: it is not known well.
  void doubt() { trusted_ = false; }

  /// Room for another step of all problems, whose weights are as large as `w`.
  void push(const Tensor& w) {
    if (steps_.size() == kTrusted) doubt();
    if (steps_.size() == kMemory) steps_.pop_front();
    steps_.push_back({at::empty_like(w), at::empty_like(w), at::empty({w.size(0), 1, 1}, w.options())});
  }
  void fill(std::int64_t begin, std::int64_t end, const Tensor& step, const Tensor& change) {
    const Step last = steps_.back().slice(begin, end);
    last.s.copy_(step);
    last.y.copy_(change);
    const Tensor sy = inner_products(step, change);
    const Tensor small = sy <= 1e-10 * (inner_products(step, step) * inner_products(change, change))
                                           .sqrt();  // rounding is all that is left of it
    last.rho.copy_(sy.reciprocal().masked_fill(small, 0));
  }
  void keep(const Tensor& which) {
    for (Step& step : steps_) {
      step = {step.s.index_select(0, which), step.y.index_select(0, which), step.rho.index_select(0, which)};
    }
  }
  /// -H g, H the approximate inverse of the Hessian; `inverse` is what it begins with.
  template <typename Inverse>
  Tensor direction(std::int64_t begin, std::int64_t end, const Tensor& g, const Inverse& inverse) const {
    Tensor q = g.clone();
    std::vector<Tensor> alphas(steps_.size());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const Step step = steps_[i].slice(begin, end);
      alphas[i] = step.rho * inner_products(step.s, q);
      q.addcmul_(alphas[i], step.y, -1);
    }
    if (steps_.empty() || trusted_) {
      q = inverse(q);
    } else {
      // Both at once: what takes time is to read the factor.
      const Step last = steps_.back().slice(begin, end);
      const Tensor both = inverse(at::cat({q, last.y}));  // [2 p, K, D]
      q = both.slice(0, 0, end - begin);
      const Tensor yhy = inner_products(last.y, both.slice(0, end - begin));
      const Tensor scale = (yhy * last.rho).reciprocal();
      q.mul_(at::where(scale.isfinite(), scale, at::ones_like(scale)));
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step step = steps_[i].slice(begin, end);
      q.addcmul_(alphas[i] - step.rho * inner_products(step.y, q), step.s);
    }
    return q.neg_();
  }

 private:
  struct Step {
    Tensor s, y, rho;  // [p, K, D], [p, K, D], [p, 1, 1]
    Step slice(std::int64_t begin, std::int64_t end) const {
      return {s.slice(0, begin, end), y.slice(0, begin, end), rho.slice(0, begin, end)};
    }
  };
  std::deque<Step> steps_;
  bool trusted_;
};

/// Problems on rows that some fold trains on, each of them.
class Solver {
 public:
  Solver(Design x, const Targets& targets, const LogisticProblems& problems, const LogisticOptions& options)
      : options_(options), x_(std::move(x)), targets_(targets), problems_(problems) {
    // 1/2 |w|^2 of the weights of columns as they are given.
    penalty_ = at::cat(
        {x_.deviation().to(at::kDouble).square().reciprocal(), x_.mean().new_zeros(1).to(at::kDouble)});
    slope_ = at::cat({x_.deviation(), x_.mean().new_ones(1)});
    shift_ = at::cat({x_.mean(), x_.mean().new_zeros(1)});
    // Each different C is a group; problems are put in the order of their groups.
    const auto unique = at::_unique2(problems_.penalties, /*sorted=*/true, /*return_inverse=*/true);
    cs_ = std::get<0>(unique);
    group_ = std::get<1>(unique);
    if (2 * kSample * x_.columns() < x_.rows()) {
      // By no step, which the rows' own order may have too.
      order_ =
          at::randperm(x_.rows(), at::detail::createCPUGenerator(0), at::kLong).to(problems.fold.device());
      sample_ = draw(kSample);
    } else {
      sample_ = at::arange(x_.rows(), problems.fold.options());
    }
    coupled_ = worth_coupling();
  }

  /// Predictions are of the rows that it is fitted to, then of `others`.
  LogisticSolutions solve(const std::optional<Features>& others) const {
    const std::int64_t p = problems_.fold.size(0);
    LogisticSolutions found = nothing(p);
    if (p > 0) {
      const bool shared = problems_.folds.size(0) > 1;  // by problems with other rows
      std::int64_t solved = 0;
      const auto progress = [&](std::int64_t more) {
        solved += more;
        if (options_.on_progress) options_.on_progress(solved, p);
      };
      const auto unsolved = [&](std::int64_t) { progress(0); };
      Start start = shared       ? begin(unsolved)
                    : few_tell() ? begin_with_few(unsolved)
                                 : Start{zeros(1), bounds()};
      const Effort effort{options_.tolerance, options_.gap, options_.max_iterations, progress};
      // As many at once as scores, in a few copies, have room for.
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
          start = {zeros(1), bounds()};  // the few rows were easier than the others
          batch = begun();
        }
        finish(std::move(batch), start.factors, effort, found);
      }
      if (others) found.predictions = at::cat({found.predictions, predictions(*others, found.weights)}, 1);
    }
    const Tensor whole = found.weights, intercepts = whole.select(2, -1);
    found.weights = whole.slice(2, 0, -1) / x_.deviation();
    found.intercepts = uncentred(intercepts, found.weights, x_.mean());
    found.intercepts.masked_fill_(intercepts <= 0.5 * kNever, -std::numeric_limits<double>::infinity());
    return found;
  }

 private:
  /// What preconditions: of each group's Hessian, or of what stands for it.
  struct Factors {
    std::vector<Tensor> lower;  // [blocks D, blocks D] each
    std::int64_t blocks;        // 1: of what classes have in common; K: of all classes together
    bool hessian;               // all of it, about where the problems are; not a bound, nor a part
  };

  /// Where problems begin.
  struct Start {
    Tensor w;  // [G, K, D], of each C; or [1, K, D]
    Factors factors;
    double expected = std::numeric_limits<double>::infinity();  // of the objective there, about
  };

  struct Effort {
    double tolerance, gap;
    std::int64_t max_iterations;
    std::function<void(std::int64_t)> on_iteration;  // told how many more are solved; may throw
  };

  std::int64_t outputs() const { return targets_.outputs(); }
  std::int64_t rows() const { return x_.rows(); }

  /// So many rows for each column: drawn at random, the same always, and not those that `before` were drawn.
  /// Rising.
  Tensor draw(std::int64_t each, std::int64_t before = 0) const {
    const std::int64_t d = x_.columns();
    return std::get<0>(order_.slice(0, before * d, (before + each) * d).sort());
  }

  Tensor zeros(std::int64_t p) const {  // [p, K, D]
    return at::zeros({p, outputs(), x_.columns()}, x_.mean().options());
  }

  LogisticSolutions nothing(std::int64_t p) const {
    const auto floats = x_.mean().options();
    LogisticSolutions found;
    found.weights = zeros(p);
    found.predictions = at::zeros({p, rows()}, floats.dtype(at::kShort));
    found.objectives = at::zeros({p}, floats.dtype(at::kDouble));
    found.gradients = at::zeros({p}, floats);
    found.gaps = at::zeros({p}, floats);
    found.iterations = at::zeros({p}, floats.dtype(at::kLong));
    return found;
  }

  /// Whether to make Hessians of all classes together. Without what classes have to do with each other, some
  /// thirty iterations more are needed; with it, the Hessian costs more, once for each C.
  bool worth_coupling() const {
    const auto k = static_cast<double>(outputs()), d = static_cast<double>(x_.columns());
    const auto n = static_cast<double>(x_.rows()), m = static_cast<double>(sample_.size(0));
    const double each = static_cast<double>(problems_.fold.size(0)) / static_cast<double>(cs_.size(0));
    const double iterations = 30 * 4 * n * d * k * each;  // two products each
    const double hessian = k * (k + 1) * m * d * d + k * k * k * d * d * d / 3;
    return k > 1 && k * d <= kCoupled && hessian < 2 * iterations;  // products are half of an iteration
  }

  /// Of all problems that there are, some with weights w [p, K, D]; or [1, K, D], if all begin there.
  Batch batch_of(const Tensor& index, const Tensor& group, const Tensor& fold, const Tensor& folds,
                 const Tensor& w) const {
    Batch batch;
    batch.index = index;
    batch.group = group;
    // A column so small that float32 cannot hold its penalty has a weight of nearly nothing with this one
    // too.
    batch.penalty =
        (penalty_ / cs_.index_select(0, group).unsqueeze(1)).clamp_max_(1e30).to(at::kFloat).unsqueeze(1);
    batch.mask = folds.index_select(0, fold).t().to(at::kFloat).contiguous();
    batch.count = batch.mask.sum(0);
    batch.least = 1e-4 * std::log(static_cast<double>(problems_.classes)) * batch.count.to(at::kDouble);
    batch.smallest = at::full_like(batch.count, std::numeric_limits<float>::infinity());
    batch.waited = at::zeros_like(batch.count);
    batch.w = w.expand({group.size(0), -1, -1}).contiguous();
    batch.present = targets_.present(batch.mask);
    if (batch.present.defined()) {  // a class that no row has: as if it were not there
      batch.w = batch.w * batch.present.unsqueeze(2);
      batch.w.select(2, -1).masked_fill_(batch.present == 0, kNever);
    }
    batch.alike = w.size(0) == 1 && folds.size(0) == 1;
    batch.find_ends(cs_.size(0));
    move(batch, {}, batch.w);
    return batch;
  }

  /// body(group, begin, end) for the problems [begin, end) of each C, on all threads.
  template <typename Body>
  void for_groups(const Batch& batch, const Body& body) const {
    const bool worth = batch.w.is_cpu() && 50 * static_cast<double>(batch.w.numel()) > kSmall;
    in_parallel(std::ssize(batch.ends), worth, [&](std::int64_t g) {
      const auto at = static_cast<std::size_t>(g);
      const std::int64_t begin = at == 0 ? 0 : batch.ends[at - 1], end = batch.ends[at];
      if (begin < end) body(at, begin, end);
    });
  }

  /// make(g) for every C. A factorisation's threads meet after every few columns, and wake each other as
  /// often: where there is one for each thread, each does a whole one.
  template <typename Make>
  std::vector<Tensor> for_each_c(const Make& make) const {
    std::vector<Tensor> made(static_cast<std::size_t>(cs_.size(0)));
    const bool alone = cs_.is_cpu() && at::get_num_threads() <= cs_.size(0);
    in_parallel(cs_.size(0), alone, [&](std::int64_t g) { made[static_cast<std::size_t>(g)] = make(g); });
    return made;
  }

  /// Factors that know of the loss only how steeply it can bend (Boehning), for every C.
  Factors bounds() const {
    Tensor gram = at::zeros({x_.columns(), x_.columns()}, x_.mean().options());
    over(sample_, [&](const Tensor&, const Tensor& x) { add_product(x, x, gram); });
    return factors(gram * (spread(sample_) * (outputs() == 1 ? 0.25 : 0.5)), /*hessian=*/false);
  }

  /// Every C on the rows of all folds.
  Start begin(const std::function<void(std::int64_t)>& on_iteration) const {
    const double trained = problems_.folds.to(at::kFloat).mean().item<double>();
    const Effort effort{10 * options_.tolerance, 10 * options_.gap, kRound, on_iteration};
    return start_at(all_together(effort).weights, trained);
  }

  /// Whether some rows are much fewer than all, and of all classes that there are.
  bool few_tell() const {
    const std::int64_t first = kFirst * x_.columns();
    if ((kFirst + kOthers) * x_.columns() > rows() || 4 * first * x_.columns() > options_.max_bytes)
      return false;
    return (targets_.shares(draw(kFirst)) > 0).equal(targets_.shares({}) > 0);
  }

  /// A middle C on few rows, weighed as all: of so many rows as there are then, all C have nearly the same
  /// optimum, and nearly the same Hessian of the loss. That is made of other rows, which these weights were
  /// not fitted to, and of more of them: for what they leave open, few iterations are enough.
  Start begin_with_few(const std::function<void(std::int64_t)>& on_iteration) const {
    const Tensor first = draw(kFirst), others = draw(kOthers, kFirst);
    LogisticProblems few = problems_;
    few.targets = problems_.targets.index_select(0, first);
    few.folds = problems_.folds.new_ones({1, first.size(0)});
    few.fold = problems_.fold.new_zeros({1});
    few.penalties = cs_.slice(0, cs_.size(0) / 2, cs_.size(0) / 2 + 1) * spread(first);
    const Targets targets(few, first.size(0));
    const Effort effort{1e-3, 1e-4, kRound, on_iteration};
    const LogisticSolutions found = Solver(x_.part(first), targets, few, options_).all_together(effort);
    const Tensor gram = curvature(found.weights[0], at::ones({rows()}, x_.mean().options()), others,
                                  spread(others), /*coupled=*/false);
    return {found.weights, factors(gram, /*hessian=*/outputs() == 1),
            (found.objectives / few.penalties).item<double>() * spread(first)};
  }

  /// Every C on all rows; without intercepts and predictions.
  LogisticSolutions all_together(const Effort& effort) const {
    const Tensor groups = at::arange(cs_.size(0), problems_.fold.options());
    LogisticSolutions found = nothing(groups.size(0));
    finish(batch_of(groups, groups, at::zeros_like(groups), problems_.folds.new_ones({1, rows()}), zeros(1)),
           bounds(), effort, found);
    return found;
  }

  /// With Hessians at weights w, of problems that train on that part of the rows.
  Start start_at(Tensor w, double trained) const {
    Factors factors = none();
    const Tensor mask = at::full({rows()}, trained, w.options());
    factors.lower = for_each_c([&](std::int64_t g) { return hessian(w[g], mask, g); });
    return {std::move(w), std::move(factors)};
  }

  /// Until all are solved, or no more iterations may be made.
  void finish(Batch batch, Factors factors, const Effort& effort, LogisticSolutions& found) const {
    for (std::int64_t spent = 0;;) {
      batch = iterate(std::move(batch), factors, effort, spent, found);
      if (batch.size() == 0) return;
      // The factors that they share serve the rest badly: new ones, where they are now.
      factors = none();
      factors.lower = for_each_c([&](std::int64_t g) {
        const auto at = static_cast<std::size_t>(g);
        const std::int64_t first = g == 0 ? 0 : batch.ends[at - 1], end = batch.ends[at];
        if (first == end) return Tensor();
        return hessian(middle(batch, first, end), batch.mask.slice(1, first, end).mean(1), g);
      });
      move(batch, {}, batch.w);
    }
  }

  /// The mean of the weights of some problems: of each class, of those that know it.
  static Tensor middle(const Batch& batch, std::int64_t begin, std::int64_t end) {  // [K, D]
    const Tensor w = batch.w.slice(0, begin, end);
    if (!batch.present.defined()) return w.mean(0);
    const Tensor present = batch.present.slice(0, begin, end);
    return (w * present.unsqueeze(2)).sum(0) / present.sum(0).clamp_min(1).unsqueeze(1);
  }

  /// Until all are solved, or kRound iterations are made, or all that may be: then none is left.
  Batch iterate(Batch batch, const Factors& factors, const Effort& effort, std::int64_t& spent,
                LogisticSolutions& found) const {
    Memory memory(/*trusted=*/factors.hessian);
    bool stuck = false;
    const std::int64_t begin = spent;
    for (const std::int64_t end = std::min(begin + kRound, effort.max_iterations);; ++spent) {
      Tensor d = at::empty_like(batch.w);                                              // [p, K, D]
      Tensor slope = at::empty_like(batch.f), steepest = at::empty_like(batch.count);  // [p]
      for_groups(batch, [&](std::size_t group, std::int64_t from, std::int64_t to) {
        const Tensor g = batch.g.slice(0, from, to);
        const Tensor here = memory.direction(from, to, g, [&](const Tensor& q) {
          return precondition(q, factors.lower[group], factors.blocks);
        });
        balance(here, batch.present.defined() ? batch.present.slice(0, from, to) : Tensor());
        d.slice(0, from, to).copy_(here);
        slope.slice(0, from, to).copy_(inner_products(g, here).flatten());  // negative
        // Of the columns as they are given: neither divided nor centred.
        const Tensor given = at::addcmul(g * slope_, g.slice(2, -1), shift_);
        steepest.slice(0, from, to).copy_(at::amax(given.abs(), {1, 2}));
      });
      steepest /= batch.count;
      // Newton's estimate is of a quadratic, which the loss of rows that are sure of their class is less and
      // less.
      const Tensor doubt = (1000 * batch.least / batch.f).clamp_(1, 10);
      const Tensor above = (slope * doubt / at::maximum(batch.f, batch.least)).mul_(-0.5).to(at::kFloat);
      Tensor done = (steepest <= kSurely * effort.tolerance).logical_and_(above <= effort.gap);
      done.logical_or_(steepest <= 1e-5 * effort.tolerance);  // float32 cannot say more of the objective
      // Nor of the gradient, once it is made of rounding.
      const Tensor smaller = steepest < 0.9 * batch.smallest;
      batch.smallest = at::minimum(batch.smallest, steepest);
      batch.waited.add_(1).masked_fill_(smaller, 0);
      done.logical_or_((batch.waited >= kPatience).logical_and_(above <= kRounded));
      const bool last = stuck || spent == end;
      if (stuck || spent == effort.max_iterations) done.fill_(true);
      // Those that are solved go on with the others until it is worth moving what is left together.
      if (last || 4 * done.sum().item<std::int64_t>() >= done.size(0)) {
        const Tensor gone = done.nonzero().squeeze(1), left = done.logical_not().nonzero().squeeze(1);
        put_away(batch, gone, steepest, above, spent - begin, spent, found);
        batch.keep(left);
        memory.keep(left);
        d = d.index_select(0, left);
        slope = slope.index_select(0, left);
        effort.on_iteration(gone.numel());
      }
      if (last || batch.size() == 0) return batch;
      effort.on_iteration(0);
      // Where rounding is all that is left, what there is, is what can be had.
      stuck = !step(batch, memory, d, slope);
    }
  }

  /// Raising all classes' intercepts alike changes nothing: no step shall, or rounding drifts away that way.
  /// Nor does any change a class that no row has.
  static void balance(const Tensor& d, const Tensor& present) {  // [p, K, D], [p, K] or undefined
    if (d.size(1) == 1) return;
    Tensor intercepts = d.select(2, -1);
    if (!present.defined()) {
      intercepts.sub_(intercepts.mean(1, /*keepdim=*/true));
      return;
    }
    d.mul_(present.unsqueeze(2));
    intercepts.sub_(present * (intercepts.sum(1, /*keepdim=*/true) / present.sum(1, /*keepdim=*/true)));
  }

  /// To the point along d that lowers the objective enough; false if there is none for any problem.
  bool step(Batch& batch, Memory& memory, const Tensor& d, const Tensor& slope) const {
    const Tensor from = batch.z, start = batch.w, before = batch.f, old = batch.g;
    auto [dz, reach] = move(batch, from, d, start);
    // Where a class is sure of its rows, the loss is flat and a quadratic model leads anywhere.
    const Tensor most = (kReach / reach.to(at::kDouble)).clamp_max(1);  // [p]
    Tensor length = at::ones_like(slope);
    for (int tries = 0;; ++tries) {
      // What float32's sums leave undecided is no rise; what overflowed is one.
      const Tensor high = (batch.f <= before + 1e-4 * length * slope + 1e-7 * before).logical_not();
      const Tensor far = length > most;
      if (tries > kTries || !high.logical_or(far).any().item<bool>()) break;
      // No step at all, in the end: where rounding is as large as what could be won.
      length = at::where(high, tries < kTries ? length * 0.3 : at::zeros_like(length), length);
      length = at::where(far, most, length);
      // Scores are linear in the step: no further product.
      move(batch, from, d, start, dz, length.to(at::kFloat));
    }
    if (length.min().item<double>() < 1) memory.doubt();
    memory.push(batch.w);
    for_groups(batch, [&](std::size_t, std::int64_t first, std::int64_t end) {
      memory.fill(first, end, batch.w.slice(0, first, end) - start.slice(0, first, end),
                  batch.g.slice(0, first, end) - old.slice(0, first, end));
    });
    return length.max().item<double>() > 0;
  }

  /// Moves a batch to weights start + length d, whose scores are from + length dz: scores, objective and
  /// gradient there, in one pass over the rows. Without a start: to d itself. Without dz it is X d. Returns
  /// dz [n, p, K] and how far it changes a problem's scores at most [p]; 0 for all of them, if it is no more
  /// than kReach for any.
  std::pair<Tensor, Tensor> move(Batch& batch, const Tensor& from, const Tensor& d, const Tensor& start = {},
                                 Tensor dz = {}, const Tensor& length = {}) const {
    const std::int64_t all = batch.size(), p = std::exchange(batch.alike, false) ? 1 : all;
    const std::int64_t k = outputs(), columns = x_.columns(), pieces = x_.pieces(p * k);
    const bool first_ever = !start.defined(), whole = !length.defined();
    const Tensor flat = d.slice(0, 0, p).reshape({p * k, columns}).t();  // [D, p K]
    const auto options = d.options();
    Tensor z = at::empty({rows(), p, k}, options);
    if (whole && !first_ever) dz = at::empty_like(z);
    std::vector<float> far(static_cast<std::size_t>(pieces), 0);
    Tensor losses = at::zeros({pieces, p}, options.dtype(at::kDouble));
    Tensor sums = at::zeros({pieces, p * k, columns}, options);
    x_.sweep(p * k, [&](std::int64_t piece, std::int64_t begin, const Tensor& x) {  // x [b, D]
      const std::int64_t end = begin + x.size(0);
      Tensor there = z.slice(0, begin, end);  // [b, p, K]
      if (first_ever) {
        Tensor product = there.view({-1, p * k});
        at::mm_out(product, x, flat);
      } else if (whole) {
        Tensor change = dz.slice(0, begin, end), product = change.view({-1, p * k});
        at::mm_out(product, x, flat);
        const auto [least, most] = at::aminmax(product);
        float& most_far = far[static_cast<std::size_t>(piece)];
        most_far = std::max({most_far, -least.item<float>(), most.item<float>()});
        at::add_out(there, from.slice(0, begin, end), change);
      } else {
        at::addcmul_out(there, from.slice(0, begin, end), dz.slice(0, begin, end), length.view({1, -1, 1}));
      }
      const Tensor mask = batch.mask.slice(0, begin, end).slice(1, 0, p);  // [b, p]
      Tensor r = there.clone();                                            // [b, p, K]
      losses[piece] += targets_.losses(r, begin, end).mul_(mask).sum(0, false, at::kDouble);
      sums[piece].addmm_(r.mul_(mask.unsqueeze(2)).view({-1, p * k}).t(), x);
    });
    batch.z = z.expand({-1, all, -1});
    batch.w = first_ever ? d : at::empty_like(d);
    batch.f = losses.sum(0).repeat({all / p});
    batch.g = at::empty_like(d);
    const Tensor gradients = sums.view({pieces, p, k, columns}).expand({-1, all, -1, -1});
    for_groups(batch, [&](std::size_t, std::int64_t first, std::int64_t last) {
      Tensor w = batch.w.slice(0, first, last), g = batch.g.slice(0, first, last);
      if (!first_ever) {
        const Tensor moved = d.slice(0, first, last),
                     t = whole ? moved : moved * length.slice(0, first, last).view({-1, 1, 1});
        at::add_out(w, start.slice(0, first, last), t);
      }
      const Tensor penalised = w * batch.penalty.slice(0, first, last);
      batch.f.slice(0, first, last) += 0.5 * (w * penalised).sum({1, 2}, false, at::kDouble);
      at::sum_out(g, gradients.slice(1, first, last), {0}).add_(penalised);
    });
    // Steps are short, nearly always: then nobody needs to know whose goes how far.
    const bool short_ones = !whole || *std::ranges::max_element(far) <= kReach;
    return {dz, short_ones ? at::zeros({p}, options) : dz.abs().amax({0, 2})};
  }

  /// Scores and objective of the weights as they are, without what rounding added to the steps'.
  void settle(Batch& batch) const {
    const std::int64_t p = batch.size(), k = outputs(), pieces = x_.pieces(p * k);
    const Tensor flat = batch.w.reshape({p * k, -1}).t();  // [D, p K]
    Tensor losses = at::zeros({pieces, p}, batch.f.options());
    x_.sweep(p * k, [&](std::int64_t piece, std::int64_t begin, const Tensor& x) {
      const std::int64_t end = begin + x.size(0);
      Tensor there = batch.z.slice(0, begin, end).view({-1, p * k});
      at::mm_out(there, x, flat);
      Tensor r = there.view({-1, p, k}).clone();
      losses[piece] +=
          targets_.losses(r, begin, end).mul_(batch.mask.slice(0, begin, end)).sum(0, false, at::kDouble);
    });
    batch.f = losses.sum(0) + 0.5 * (batch.w.square() * batch.penalty).sum({1, 2}, false, at::kDouble);
  }

  /// Gradients q of problems of one C through its factor.
  Tensor precondition(const Tensor& q, const Tensor& factor, std::int64_t blocks) const {
    const Tensor right = q.reshape({-1, blocks * x_.columns()}).t();  // at::cholesky_solve copies the factor
    const Tensor half = at::linalg_solve_triangular(factor, right, /*upper=*/false);
    return at::linalg_solve_triangular(factor.mT(), half, /*upper=*/true).t().reshape(q.sizes());
  }

  /// The Hessian at weights w [K, D], of rows that count mask [n], factorised.
  Tensor hessian(const Tensor& w, const Tensor& mask, std::int64_t group) const {
    const Tensor trained = mask.nonzero().squeeze(1);
    Tensor some = sample_;
    if (trained.size(0) < rows()) {
      some = order_.defined() ? order_.index({mask.index_select(0, order_) > 0}) : trained;
      some = std::get<0>(some.slice(0, 0, kSample * x_.columns()).sort());
    }
    const double spread = static_cast<double>(trained.size(0)) / static_cast<double>(some.size(0));
    return factor(curvature(w, mask, some, spread, coupled_), group, coupled_ ? outputs() : 1);
  }

  /// body(at, x [b, D]) for some rows, so many at once as stay in a cache.
  template <typename Body>
  void over(const Tensor& index, const Body& body) const {
    const std::int64_t few = std::max<std::int64_t>(256, 4 * kNumbersOfBlock / x_.columns());
    for (const Tensor& at : index.split(few)) body(at, x_.rows_at(at));
  }

  /// The Hessian of the loss, made of some rows for `spread` times as many: of all classes together
  /// [K D, K D], or what they have in common [D, D]. Below the diagonal: the rest is nobody's concern.
  Tensor curvature(const Tensor& w, const Tensor& mask, const Tensor& index, double spread,
                   bool coupled) const {
    const std::int64_t k = outputs(), columns = x_.columns(), blocks = coupled ? k : 1;
    Tensor h = at::zeros({blocks, columns, blocks, columns}, w.options());
    over(index, [&](const Tensor& at, const Tensor& x) {
      const Tensor counts = mask.index_select(0, at) * spread;  // [b]
      const auto add = [&](std::int64_t a, std::int64_t b, const Tensor& bend) {
        add_product(x, x * (bend * counts).unsqueeze(1), h.select(0, a).select(1, b));
      };
      const Tensor scores = x.mm(w.t());                                                        // [b, K]
      const Tensor p = k == 1 ? at::sigmoid(scores) : at::softmax(scores, 1), q = p * (1 - p);  // [b, K]
      if (!coupled) {
        add(0, 0, k == 1 ? q.squeeze(1) : q.sum(1) / static_cast<double>(k - 1));
        return;
      }
      for (std::int64_t a = 0; a < k; ++a) {
        add(a, a, q.select(1, a));
        for (std::int64_t b = 0; b < a; ++b) add(a, b, -p.select(1, a) * p.select(1, b));
      }
    });
    for (std::int64_t a = 0; a < blocks; ++a) {
      for (std::int64_t b = 0; b < a; ++b) {
        Tensor block = h.select(0, a).select(1, b);
        block.copy_(block.tril() + block.tril(-1).t());
      }
    }
    return h.view({blocks * columns, blocks * columns});
  }

  /// How many rows each of some stands for.
  double spread(const Tensor& some) const {
    return static_cast<double>(rows()) / static_cast<double>(some.size(0));
  }

  /// Of all classes together, or of what they have in common; still to be made.
  Factors none() const {
    return {.lower = {}, .blocks = coupled_ ? outputs() : 1, .hessian = coupled_ || outputs() == 1};
  }

  /// Of what is the same for every C, but for its penalty.
  Factors factors(const Tensor& gram, bool hessian) const {
    return {.lower = for_each_c([&](std::int64_t g) { return factor(gram, g, 1); }),
            .blocks = 1,
            .hessian = hessian};
  }

  /// Cholesky's factor of gram + penalty. A softmax's scores can all be raised alike: along that, and where
  /// rounding made it indefinite, a little is added.
  Tensor factor(const Tensor& gram, std::int64_t group, std::int64_t blocks) const {
    Tensor h = gram.clone();
    h.diagonal().add_((penalty_ / cs_[group]).to(at::kFloat).repeat({blocks}));
    const Tensor least = h.diagonal().mean() * 1e-12 + 1e-30;
    for (double extra = 1e-6; extra < 1; extra *= 30) {
      Tensor trial = h.clone();
      trial.diagonal().mul_(1 + extra).add_(least);
      const auto [l, info] = at::linalg_cholesky_ex(trial);
      if (info.item<int>() == 0) return l;
    }
    return at::diag(h.diagonal().clamp_min(1e-30).sqrt());
  }

  /// The last `steps` of those that were spent were added to scores.
  void put_away(Batch batch, const Tensor& gone, const Tensor& steepest, const Tensor& above,
                std::int64_t steps, std::int64_t spent, LogisticSolutions& found) const {
    if (gone.numel() == 0) return;
    batch.keep(gone);
    // Rounding adds up as the root of a sum's length, a product's as that of the columns.
    if (steps * steps > x_.columns()) settle(batch);
    found.weights.index_copy_(0, batch.index, batch.w);
    found.predictions.index_copy_(0, batch.index, targets_.predictions(batch.z));
    found.objectives.index_copy_(0, batch.index, batch.f * cs_.index_select(0, batch.group));
    found.gradients.index_copy_(0, batch.index, steepest.index_select(0, gone));
    found.gaps.index_copy_(0, batch.index, above.index_select(0, gone));
    found.iterations.index_fill_(0, batch.index, spent);
  }

  /// Of rows that nothing was fitted to: int16 [p, n]
  Tensor predictions(const Features& others, const Tensor& w) const {  // [p, K, D]
    const std::int64_t p = w.size(0), n = others.rows();
    const std::int64_t few = std::clamp<std::int64_t>((1 << 24) / (p * outputs()), 64, kRowsOfBlock);
    const Tensor flat = w.reshape({p * outputs(), -1}).t();  // [D, p K]
    Tensor found = at::empty({p, n}, w.options().dtype(at::kShort));
    for (std::int64_t begin = 0; begin < n; begin += few) {
      const std::int64_t end = std::min(n, begin + few);
      const Tensor x = x_.augmented(others.block(begin, end));  // [b, D]
      check_finite(x);
      found.slice(1, begin, end).copy_(targets_.predictions(x.mm(flat).view({-1, p, outputs()})));
    }
    return found;
  }

  const LogisticOptions& options_;
  const Design x_;
  const Targets& targets_;
  const LogisticProblems& problems_;
  Tensor penalty_;  // [D] double, of squared weights, for C = 1; the intercept has none
  Tensor slope_;    // [D], what the gradient is multiplied by to be that of the columns before their division
  Tensor shift_;    // [D], how much of the intercept's is added for them to be as they are given
  Tensor cs_;       // [G], each different C
  Tensor group_;    // [P], its place among them
  Tensor order_;    // [n], all rows in a random one, where some are enough
  Tensor sample_;   // rows that Hessians are made of
  bool coupled_ = false;
};

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
    const Tensor seen = labels.index_select(0, rows);
    TORCH_CHECK_VALUE(seen.min().item<std::int64_t>() < seen.max().item<std::int64_t>(), "fold ", f,
                      " trains on one class alone: there is nothing to tell apart");
  }
}

/// Where fewer rows are trained on than there are columns: the optimum's weights are sums of these rows, less
/// their mean. These are U S V^T; so V's coordinates X V, of which there are no more than rows, take the
/// place of X. Weights are as long in them as in the columns.
class RowSpace {
 public:
  /// Nothing where it would not be worth its products.
  static std::optional<RowSpace> of(const Features& features, const LogisticProblems& problems) {
    const Tensor trained = problems.folds.any(0).nonzero().squeeze(1);
    const auto n = static_cast<double>(features.rows()), d = static_cast<double>(features.dim());
    const auto m = static_cast<double>(trained.size(0)), p = static_cast<double>(problems.fold.size(0));
    // A decomposition computes at a third of a product's speed.
    const double cost = 3 * (6 * d * m * m + 20 * m * m * m) + 2 * n * d * m;
    const double iterations = 60 * n * p, hessians = 6 * (2 * m * (d + m) + (d * d + d * m + m * m) / 3);
    if (m >= d || cost > (d - m) * (iterations + hessians)) return std::nullopt;
    return RowSpace(features, trained);
  }

  const Features& features() const { return coordinates_; }

  void restore(LogisticSolutions& found) const {
    found.weights = at::matmul(found.weights, basis_.t());
    found.intercepts = uncentred(found.intercepts, found.weights, mean_);
  }

 private:
  RowSpace(const Features& features, const Tensor& trained) : coordinates_(at::empty({0, 1})) {
    const Tensor rows = features.rows_at(trained);  // [m, d]
    TORCH_CHECK_VALUE(rows.isfinite().all().item<bool>(), "features must be finite");
    mean_ = rows.mean(0);
    const auto [u, s, vt] = at::linalg_svd(rows - mean_, /*full_matrices=*/false);
    const auto rank = std::max<std::int64_t>(1, (s > 1e-6 * s.max()).sum().item<std::int64_t>());
    basis_ = vt.slice(0, 0, rank).t();  // [d, rank]
    Tensor coordinates = at::empty({features.rows(), rank}, rows.options());
    for (std::int64_t begin = 0; begin < features.rows(); begin += kRowsOfBlock) {
      const std::int64_t end = std::min(features.rows(), begin + kRowsOfBlock);
      Tensor out = coordinates.slice(0, begin, end);
      at::mm_out(out, features.block(begin, end) - mean_, basis_);
    }
    coordinates_ = Features(coordinates);
  }

  Tensor mean_, basis_;
  Features coordinates_;
};

/// Rows that no fold trains on are left out, until there is something to predict them with.
LogisticSolutions fit(const Features& features, const LogisticProblems& problems,
                      const LogisticOptions& options) {
  const auto solve = [&](const Features& rows, const LogisticProblems& of_rows,
                         const std::optional<Features>& others) {
    const Targets targets(of_rows, rows.rows());
    return Solver(Design(rows, options.max_bytes), targets, of_rows, options).solve(others);
  };
  const Tensor used = problems.folds.any(0);  // [n]
  const Tensor trained = used.nonzero().squeeze(1), others = used.logical_not().nonzero().squeeze(1);
  if (problems.fold.numel() == 0 || others.numel() == 0) return solve(features, problems, std::nullopt);
  LogisticProblems of_rows = problems;
  of_rows.targets = problems.targets.index_select(0, trained);
  of_rows.folds = problems.folds.index_select(1, trained);
  LogisticSolutions found = solve(features.part(trained), of_rows, features.part(others));
  found.predictions = found.predictions.index_select(1, at::cat({trained, others}).argsort());
  return found;
}

/// scikit-learn drops classes that no row of a fold has. Where two are left, it has one row of weights u, and
/// we have -u / 2 and u / 2, whose squares are half as much: with half of C that is the same problem, and
/// half its objective. So much of each problem is left [P]: 1 or a half.
Tensor halves(const LogisticProblems& problems, const Targets& targets) {
  const Tensor whole = at::ones_like(problems.penalties);
  const Tensor present = targets.present(problems.folds.t().to(at::kFloat));  // [F, K]
  if (!present.defined()) return whole;
  return whole.masked_fill(present.sum(1).index_select(0, problems.fold) == 2, 0.5);
}

/// The largest element of each gradient [P], as `tolerance` measures it: in float64, of the columns as they
/// are given and the weights as they are returned, which are rounded.
Tensor last_gradients(const Features& features, const LogisticProblems& problems, const Targets& targets,
                      const LogisticSolutions& found, const std::function<void()>& on_block) {
  const Tensor w = found.weights.to(at::kDouble);
  const std::int64_t p = w.size(0), k = w.size(1), d = w.size(2), n = features.rows();
  const Tensor flat = w.view({p * k, d}).t();  // [d, p K]
  // Not infinite: of a row that does not count, whose class is none of the fold's, NaN would be left.
  const Tensor intercepts = found.intercepts.clamp_min(kNever).view({1, p * k});
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
  LogisticSolutions found = [&] {
    const c10::InferenceMode guard;
    const Targets targets(problems, features.rows());
    check(problems, targets.labels(), features.rows());
    const Tensor whole = halves(problems, targets);
    LogisticProblems posed = problems;
    posed.penalties = problems.penalties * whole;
    LogisticSolutions solutions;
    if (const auto space = RowSpace::of(features, posed)) {
      solutions = fit(space->features(), posed, options);
      space->restore(solutions);
    } else {
      solutions = fit(features, posed, options);
    }
    solutions.objectives /= whole;
    if (const std::int64_t solved = whole.numel(); solved > 0) {
      // Of half a million rows this takes seconds, too.
      solutions.gradients = last_gradients(features, posed, targets, solutions, [&] {
        if (options.on_progress) options.on_progress(solved, solved);
      });
    }
    return solutions;
  }();
  // Tensors of inference mode would not go into a user's autograd.
  for (Tensor* t : {&found.weights, &found.intercepts, &found.predictions, &found.objectives,
                    &found.gradients, &found.gaps, &found.iterations}) {
    *t = t->clone();
  }
  return found;
}

}  // namespace sentencode
