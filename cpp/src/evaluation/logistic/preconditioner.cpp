#include "evaluation/logistic/preconditioner.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <utility>

#include "evaluation/logistic/parallel.h"

namespace sentencode::logistic {

using at::Tensor;

namespace {

constexpr std::int64_t kSample = 16;  // rows per column for a sufficient Hessian
constexpr std::int64_t kStrips = 4;   // of a symmetric product
// Maximum of K D for the joint Hessian of all classes: six of 1,024 columns and the intercept.
constexpr std::int64_t kCoupled = 6150;
constexpr std::int64_t kAlways = 4096;  // the same, whatever memory it takes

/// Adds the lower triangle of the symmetric x^T y [D, D].
void add_product(const Tensor& x, const Tensor& y, Tensor sum) {  // [b, D], [b, D]
  const std::int64_t columns = x.size(1);
  for (std::int64_t i = 0; i < kStrips; ++i) {
    const std::int64_t from = columns * i / kStrips, to = columns * (i + 1) / kStrips;
    sum.slice(0, from, to).slice(1, 0, to).addmm_(x.slice(1, from, to).t(), y.slice(1, 0, to));
  }
}

}  // namespace

Tensor Factors::solve(std::size_t group, const Tensor& q) const {
  const Tensor& factor = lower[group];
  const Tensor right = q.reshape({-1, blocks * q.size(2)}).t();  // at::cholesky_solve copies the factor
  const Tensor half = at::linalg_solve_triangular(factor, right, /*upper=*/false);
  return at::linalg_solve_triangular(factor.mT(), half, /*upper=*/true).t().reshape(q.sizes());
}

Hessians::Hessians(const Design& x, std::int64_t outputs, const LogisticProblems& problems, Tensor cs,
                   Tensor penalty, std::int64_t max_bytes)
    : x_(x), outputs_(outputs), cs_(std::move(cs)), penalty_(std::move(penalty)) {
  if (2 * kSample * x_.columns() < x_.rows()) {
    // Not with a constant step, which may coincide with a period of the rows.
    order_ = at::randperm(x_.rows(), at::detail::createCPUGenerator(0), at::kLong).to(problems.fold.device());
    sample_ = draw(kSample);
  } else {
    sample_ = at::arange(x_.rows(), problems.fold.options());
  }
  coupled_ = worth_coupling(problems.fold.size(0), max_bytes);
}

/// Whether to compute joint Hessians of all classes. Without the coupling of classes, more iterations are
/// needed: on TREC about 30 with 300 dimensions, over 300 with 1,024. With it, the Hessian takes longer, once
/// for each C.
bool Hessians::worth_coupling(std::int64_t problems, std::int64_t max_bytes) const {
  const std::int64_t width = outputs_ * x_.columns(), bytes = 4 * width * width * cs_.size(0);
  if (outputs_ == 1 || width > kCoupled || (width > kAlways && 2 * bytes > max_bytes)) return false;
  const auto k = static_cast<double>(outputs_), d = static_cast<double>(x_.columns());
  const auto n = static_cast<double>(x_.rows()), m = static_cast<double>(sample_.size(0));
  const double each = static_cast<double>(problems) / static_cast<double>(cs_.size(0));
  const double iterations = 120 * 4 * n * d * k * each;  // two products each
  const double hessian = k * (k + 1) * m * d * d + k * k * k * d * d * d / 3;
  return hessian < 2 * iterations;  // products are half of an iteration
}

Factors Hessians::bounds() const {
  Tensor gram = at::zeros({x_.columns(), x_.columns()}, x_.mean().options());
  over(sample_, [&](const Tensor&, const Tensor& x) { add_product(x, x, gram); });
  return factors(gram * (spread(sample_) * (outputs_ == 1 ? 0.25 : 0.5)), /*hessian=*/false);
}

Factors Hessians::common(const Tensor& w, const Tensor& index) const {
  const Tensor all = at::ones({x_.rows()}, x_.mean().options());
  return factors(curvature(w, all, index, spread(index), /*coupled=*/false), /*hessian=*/outputs_ == 1);
}

Factors Hessians::each(const std::function<Tensor(std::int64_t)>& make) const {
  return {.lower = for_each_c(make), .blocks = coupled_ ? outputs_ : 1, .hessian = coupled_ || outputs_ == 1};
}

Tensor Hessians::hessian(const Tensor& w, const Tensor& mask, std::int64_t g) const {
  const Tensor trained = mask.nonzero().squeeze(1);
  Tensor some = sample_;
  if (trained.size(0) < x_.rows()) {
    some = order_.defined() ? order_.index({mask.index_select(0, order_) > 0}) : trained;
    some = std::get<0>(some.slice(0, 0, kSample * x_.columns()).sort());
  }
  const double times = static_cast<double>(trained.size(0)) / static_cast<double>(some.size(0));
  return factor(curvature(w, mask, some, times, coupled_), g, coupled_ ? outputs_ : 1);
}

Tensor Hessians::draw(std::int64_t each, std::int64_t before) const {
  const std::int64_t d = x_.columns();
  return std::get<0>(order_.slice(0, before * d, (before + each) * d).sort());
}

double Hessians::spread(const Tensor& some) const {
  return static_cast<double>(x_.rows()) / static_cast<double>(some.size(0));
}

/// make(g) for every C. Threads of a factorisation synchronise after every few columns, so that one
/// factorisation per thread is faster if there are enough.
std::vector<Tensor> Hessians::for_each_c(const std::function<Tensor(std::int64_t)>& make) const {
  std::vector<Tensor> factors(static_cast<std::size_t>(cs_.size(0)));
  const bool alone = cs_.is_cpu() && at::get_num_threads() <= cs_.size(0);
  in_parallel(cs_.size(0), alone, [&](std::int64_t g) { factors[static_cast<std::size_t>(g)] = make(g); });
  return factors;
}

/// Factors of a matrix that is the same for every C but for the penalty.
Factors Hessians::factors(const Tensor& gram, bool hessian) const {
  return {.lower = for_each_c([&](std::int64_t g) { return factor(gram, g, 1); }),
          .blocks = 1,
          .hessian = hessian};
}

/// Cholesky factor of gram + penalty. A softmax is invariant to a shift of all scores: a small number is
/// added in that direction, and if rounding made the matrix indefinite.
Tensor Hessians::factor(const Tensor& gram, std::int64_t g, std::int64_t blocks) const {
  Tensor h = gram.clone();
  h.diagonal().add_((penalty_ / cs_[g]).to(at::kFloat).repeat({blocks}));
  const Tensor least = h.diagonal().mean() * 1e-12 + 1e-30;
  for (double extra = 1e-6; extra < 1; extra *= 30) {
    Tensor trial = h.clone();
    trial.diagonal().mul_(1 + extra).add_(least);
    const auto [l, info] = at::linalg_cholesky_ex(trial);
    if (info.item<int>() == 0) return l;
  }
  return at::diag(h.diagonal().clamp_min(1e-30).sqrt());
}

/// body(at, x [b, D]) for some rows, in blocks that fit a cache.
void Hessians::over(const Tensor& index,
                    const std::function<void(const Tensor& at, const Tensor& x)>& body) const {
  const std::int64_t few = std::max<std::int64_t>(256, 4 * kNumbersOfBlock / x_.columns());
  for (const Tensor& at : index.split(few)) body(at, x_.rows_at(at));
}

/// The lower triangle of the Hessian of the loss, from some rows that represent `spread` times as many: of
/// all classes jointly [K D, K D], or shared [D, D].
Tensor Hessians::curvature(const Tensor& w, const Tensor& mask, const Tensor& index, double spread,
                           bool coupled) const {
  const std::int64_t k = outputs_, columns = x_.columns(), blocks = coupled ? k : 1;
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

}  // namespace sentencode::logistic
