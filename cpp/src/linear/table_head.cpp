#include "sentencode/linear/table_head.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "one_blas_thread.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

/// Rows divided by their lengths [B]; zero rows stay.
Matrix unit_rows(const Matrix& u, Vector& lengths) {
  lengths = u.rowwise().norm();
  return u.array().colwise() / (lengths.array() > 0).select(lengths.array(), 1.0F);
}

std::vector<Matrix> unit_rows(std::span<const Matrix> u, std::vector<Vector>& lengths) {
  std::vector<Matrix> unit;
  for (const Matrix& side : u) unit.push_back(unit_rows(side, lengths.emplace_back()));
  return unit;
}

Vector row_products(const Matrix& a, const Matrix& b) { return a.cwiseProduct(b).rowwise().sum(); }

/// The gradient with respect to u of a loss whose gradient with respect to u / |u| is g; 0 where u is 0.
Matrix through_unit_rows(const Matrix& g, const Matrix& unit, const Vector& lengths) {
  const Vector along = row_products(g, unit);  // [B]
  const Vector inverse = (lengths.array() > 0).select(lengths.array().inverse(), 0.0F);
  return inverse.asDiagonal() * (g - along.asDiagonal() * unit);  // [B, D]
}

/// Sentences of an example, at least and at most.
std::pair<std::int64_t, std::int64_t> sides_of(HeadKind kind) {
  switch (kind) {
    case HeadKind::classifier:
      return {1, 2};
    case HeadKind::cosine_regression:
      return {2, 2};
    case HeadKind::multiple_negatives:
      return {2, 3};
    case HeadKind::row_regression:
      return {1, 1};
    case HeadKind::triplet:
      return {3, 3};
  }
  throw InvalidInput("unknown head");
}

/// Rows of scores become log-probabilities.
void log_softmax(Matrix& s) {
  s.colwise() -= s.rowwise().maxCoeff().eval();
  s.colwise() -= s.array().exp().rowwise().sum().log().matrix().eval();
}

}  // namespace

TableHead::TableHead(const TableHeadOptions& options) : options_(options) {
  const auto& [kind, d, sides, k, unit, scale, pair_scale, margin, distance] = options_;
  const auto [least, most] = sides_of(kind);
  ST_CHECK(d >= 1, InvalidInput, "dim must be at least 1, got ", d);
  ST_CHECK(sides >= least && sides <= most, InvalidInput, name_of(kind), " has examples of ",
           least == most ? concat(least) : concat(least, " or ", most), " sentences, got ", sides);
  ST_CHECK(options_.has_weights() ? k >= (kind == HeadKind::classifier ? 2 : 1) : k == 0, InvalidInput,
           name_of(kind), " cannot have ", k, " outputs");
  ST_CHECK(std::isfinite(unit) && unit > 0 && std::isfinite(scale) && scale > 0, InvalidInput,
           "unit and scale must be positive, got ", unit, " and ", scale);
  ST_CHECK(std::isfinite(pair_scale) && pair_scale > 0, InvalidInput, "pair_scale must be positive, got ",
           pair_scale);
  ST_CHECK(std::isfinite(margin) && margin >= 0, InvalidInput, "margin must be at least 0, got ", margin);
  weights_ = Vector::Zero(options_.size());
}

void TableHead::check(std::span<const Matrix> u) const {
  ST_CHECK(std::ssize(u) == options_.sides, InvalidInput, "expected embeddings of ", options_.sides,
           " sentences of each example, got ", u.size());
  for (const Matrix& side : u) {
    ST_CHECK(side.cols() == options_.dim && side.rows() == u[0].rows(), InvalidInput, "embeddings must be [",
             u[0].rows(), ", ", options_.dim, "], got [", side.rows(), ", ", side.cols(), "]");
  }
}

Matrix TableHead::features(std::span<const Matrix> u) const {
  const auto by = static_cast<float>(1 / options_.unit);
  if (options_.sides == 1) return by * u[0];
  const auto s = by * static_cast<float>(options_.pair_scale);
  Matrix x(u[0].rows(), options_.features());
  x << s * u[0], s * u[1], by * (u[0] - u[1]).cwiseAbs(), s * by * u[0].cwiseProduct(u[1]);
  return x;
}

Matrix TableHead::scores(const Matrix& x) const {
  Matrix s = weights_.tail(options_.outputs).transpose().replicate(x.rows(), 1);  // b [B, K]
  gemm<float>(Op::none, Op::transpose, 1.0F, x, w(), 1.0F, s);                    // + x W^T
  return s;
}

double TableHead::scores_loss(Matrix& s, const Matrix& y) const {
  ST_CHECK(y.rows() == s.rows() && y.cols() == s.cols(), InvalidInput, "targets must be [", s.rows(), ", ",
           s.cols(), "], got [", y.rows(), ", ", y.cols(), "]");
  if (options_.kind == HeadKind::row_regression) {
    const auto k = static_cast<float>(s.cols());
    s -= y;  // [B, K]
    const double loss = s.cast<double>().squaredNorm() / k;
    s *= 2 / k;
    return loss;
  }
  log_softmax(s);  // [B, K]
  const double loss = -s.cwiseProduct(y).cast<double>().sum();
  const Vector weights = y.rowwise().sum();                // [B]
  s = weights.asDiagonal() * Matrix(s.array().exp()) - y;  // w p - y
  return loss;
}

bool TableHead::compares_units() const {
  return options_.kind != HeadKind::triplet || options_.distance == Distance::cosine;
}

double TableHead::cosines_loss(std::span<const Matrix> x, const Matrix& y, std::span<Matrix> grad) const {
  ST_CHECK(y.rows() == x[0].rows() && y.cols() == 1, InvalidInput, "targets must be [", x[0].rows(),
           ", 1], got [", y.rows(), ", ", y.cols(), "]");
  const Vector residual = row_products(x[0], x[1]) - y.col(0);  // [B]
  grad[0] = 2 * residual.asDiagonal() * x[1];
  grad[1] = 2 * residual.asDiagonal() * x[0];
  return residual.cast<double>().squaredNorm();
}

double TableHead::ranking_loss(std::span<const Matrix> x, std::span<Matrix> grad) const {
  const Eigen::Index b = x[0].rows(), others = std::ssize(x) - 1;
  const auto scale = static_cast<float>(options_.scale);
  Matrix s(b, others * b);  // of all second sentences, and of all third ones
  for (Eigen::Index j = 0; j < others; ++j) {
    gemm<float>(Op::none, Op::transpose, scale, x[0], x[j + 1], 0.0F, s.middleCols(j * b, b));
  }
  log_softmax(s);
  const double loss = -s.diagonal().cast<double>().sum();
  s = s.array().exp();
  s.diagonal().array() -= 1;  // p - 1[i = j]
  grad[0].setZero(b, options_.dim);
  for (Eigen::Index j = 0; j < others; ++j) {
    const auto p = s.middleCols(j * b, b);  // [B, B]
    gemm<float>(Op::none, Op::none, scale, p, x[j + 1], 1.0F, grad[0]);
    grad[j + 1].resize(b, options_.dim);
    gemm<float>(Op::transpose, Op::none, scale, p, x[0], 0.0F, grad[j + 1]);
  }
  return loss;
}

Vector TableHead::differences(std::span<const Matrix> x) const {
  if (compares_units()) return row_products(x[0], x[1]) - row_products(x[0], x[2]);
  return (x[0] - x[2]).rowwise().norm() - (x[0] - x[1]).rowwise().norm();
}

double TableHead::triplet_loss(std::span<const Matrix> x, std::span<Matrix> grad) const {
  const Vector loss = (static_cast<float>(options_.margin) - differences(x).array()).max(0.0F);  // [B]
  const Vector pull = (loss.array() > 0).cast<float>(), push = -pull;
  if (compares_units()) {
    grad[1] = push.asDiagonal() * x[0];
    grad[2] = pull.asDiagonal() * x[0];
    grad[0] = pull.asDiagonal() * (x[2] - x[1]);
  } else {
    Vector distance;
    grad[1] = pull.asDiagonal() * unit_rows(x[1] - x[0], distance);
    grad[2] = push.asDiagonal() * unit_rows(x[2] - x[0], distance);
    grad[0] = -grad[1] - grad[2];
  }
  return loss.cast<double>().sum();
}

Matrix TableHead::predict(std::span<const Matrix> u) const {
  check(u);
  if (!options_.has_weights()) {
    std::vector<Vector> lengths;
    const std::vector<Matrix> units = compares_units() ? unit_rows(u, lengths) : std::vector<Matrix>();
    const std::span<const Matrix> x = units.empty() ? u : units;
    return options_.kind == HeadKind::triplet ? differences(x) : row_products(x[0], x[1]);  // [B]
  }
  Matrix s = scores(features(u));
  if (options_.kind == HeadKind::classifier) {
    log_softmax(s);
    s = s.array().exp();
  }
  return s;
}

double TableHead::loss(std::span<const Matrix> u, const Matrix& y, std::span<Matrix> grad_u,
                       Vector* grad_weights) const {
  check(u);
  if (!options_.has_weights()) {
    std::vector<Vector> lengths;
    const std::vector<Matrix> units = compares_units() ? unit_rows(u, lengths) : std::vector<Matrix>();
    const std::span<const Matrix> x = units.empty() ? u : units;
    std::vector<Matrix> grad(u.size());  // of x
    const double loss = options_.kind == HeadKind::cosine_regression ? cosines_loss(x, y, grad)
                        : options_.kind == HeadKind::triplet         ? triplet_loss(x, grad)
                                                                     : ranking_loss(x, grad);
    for (std::size_t side = 0; side < grad_u.size(); ++side) {
      grad_u[side] = units.empty() ? grad[side] : through_unit_rows(grad[side], units[side], lengths[side]);
    }
    return loss;
  }
  const std::int64_t f = options_.features(), k = options_.outputs;
  const Matrix x = features(u);  // [B, F]
  Matrix s = scores(x);
  const double loss = scores_loss(s, y);
  if (grad_weights != nullptr) {
    gemm<float>(Op::transpose, Op::none, 1.0F, s, x, 1.0F, Eigen::Map<Matrix>(grad_weights->data(), k, f));
    grad_weights->tail(k) += s.colwise().sum();
  }
  if (grad_u.empty()) return loss;
  Matrix grad_x(x.rows(), f);
  gemm<float>(Op::none, Op::none, 1.0F, s, w(), 0.0F, grad_x);  // s W
  const auto by = static_cast<float>(1 / options_.unit);
  if (options_.sides == 1) {
    grad_u[0] = by * grad_x;
    return loss;
  }
  const std::int64_t d = options_.dim;
  const auto of_side = by * static_cast<float>(options_.pair_scale);
  const auto difference = by * grad_x.middleCols(2 * d, d).cwiseProduct((u[0] - u[1]).cwiseSign());
  const auto product = of_side * by * grad_x.rightCols(d);
  grad_u[0] = of_side * grad_x.leftCols(d) + difference + product.cwiseProduct(u[1]);
  grad_u[1] = of_side * grad_x.middleCols(d, d) - difference + product.cwiseProduct(u[0]);
  return loss;
}

int TableHead::fit(std::span<const Matrix> u, const Matrix& y, double c, int max_iterations) {
  check(u);
  ST_CHECK(options_.has_weights(), InvalidInput, name_of(options_.kind), " has no weights");
  ST_CHECK(std::isfinite(c) && c > 0, InvalidInput, "C must be positive, got ", c);
  const OneBlasThread one_thread;
  constexpr float kTolerance = 1e-4F;  // of the gradient's largest element
  constexpr std::size_t kMemory = 10;  // pairs of L-BFGS
  const Matrix x = features(u);        // [n, F]
  const std::int64_t n = x.rows(), f = x.cols(), k = options_.outputs;
  const auto per_row = static_cast<float>(1 / static_cast<double>(n)),
             decay = static_cast<float>(1 / c) * per_row;
  const auto objective = [&](const Vector& at, Vector& gradient) {
    weights_ = at;
    Matrix s = scores(x);  // [n, K]
    const double loss = scores_loss(s, y);
    gradient.resize(at.size());
    gemm<float>(Op::transpose, Op::none, per_row, s, x, 0.0F, Eigen::Map<Matrix>(gradient.data(), k, f));
    gradient.head(k * f) += decay * at.head(k * f);
    gradient.tail(k) = per_row * s.colwise().sum();
    return loss * per_row + 0.5 * decay * at.head(k * f).cast<double>().squaredNorm();
  };

  Vector w = weights_, g, next, next_g;
  std::vector<Vector> steps, changes;  // s, y of L-BFGS
  double value = objective(w, g);
  int iteration = 0;
  for (; iteration < max_iterations && g.cwiseAbs().maxCoeff() > kTolerance; ++iteration) {
    poll_interrupt();
    Vector p = -g;
    std::vector<double> alpha(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
      alpha[i] = steps[i].dot(p) / steps[i].dot(changes[i]);
      p -= static_cast<float>(alpha[i]) * changes[i];
    }
    if (!steps.empty()) p *= steps.back().dot(changes.back()) / changes.back().squaredNorm();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      p += static_cast<float>(alpha[i] - changes[i].dot(p) / steps[i].dot(changes[i])) * steps[i];
    }
    const double slope = g.cast<double>().dot(p.cast<double>());
    double size = steps.empty() ? std::min(1.0, 1.0 / g.norm()) : 1.0, next_value = 0;
    int halvings = 0;
    for (; halvings < 30; ++halvings, size /= 2) {
      next = w + static_cast<float>(size) * p;
      next_value = objective(next, next_g);
      if (next_value <= value + 1e-4 * size * slope) break;
    }
    if (halvings == 30) break;  // float32 is not more precise
    if ((next_g - g).dot(next - w) > 0) {
      steps.push_back(next - w);
      changes.push_back(next_g - g);
      if (steps.size() > kMemory) {
        steps.erase(steps.begin());
        changes.erase(changes.begin());
      }
    }
    std::swap(w, next);
    std::swap(g, next_g);
    value = next_value;
  }
  weights_ = w;
  return iteration;
}

}  // namespace sentencode
