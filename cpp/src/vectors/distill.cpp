#include "sentencode/vectors/distill.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr std::int64_t kColumns = 16;  // of a block: 16 floats of a word are one cache line

template <typename T>
using PanelOf = Eigen::Array<T, Eigen::Dynamic, kColumns, Eigen::RowMajor>;  // [words, 16]
template <typename T>
using PanelRow = Eigen::Array<T, 1, kColumns>;
using Panel = PanelOf<float>;
using PanelD = PanelOf<double>;

/// A, stored as ids.
struct Operator {
  const std::vector<std::int32_t>& ids;
  const std::vector<std::int64_t>& offsets;
  const std::vector<float>& weights;  // c

  std::int64_t sentences() const { return std::ssize(offsets) - 1; }
  std::span<const std::int32_t> operator[](std::int64_t i) const {
    const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
    return {ids.data() + first, static_cast<std::size_t>(offsets[static_cast<std::size_t>(i) + 1]) - first};
  }

  /// q = A^T A p in one sweep over the sentences, without storing A p. `weighted` is scratch memory.
  template <typename T>
  void gram(const PanelOf<T>& p, PanelOf<T>& weighted, PanelOf<T>& q) const {
    const Eigen::Array<T, Eigen::Dynamic, 1> c =
        Eigen::Map<const Eigen::ArrayXf>(weights.data(), std::ssize(weights)).template cast<T>();
    weighted = p.colwise() * c;
    q.setZero();
    for (std::int64_t i = 0; i < sentences(); ++i) {
      const auto words = (*this)[i];
      PanelRow<T> sum = PanelRow<T>::Zero();
      for (const std::int32_t w : words) sum += weighted.row(w);
      const auto l = static_cast<T>(words.size());
      sum /= l * l;
      for (const std::int32_t w : words) q.row(w) += sum;
    }
    q.colwise() *= c;
  }

  /// diag(A^T A) [words], as if no word occurred twice in a sentence: a preconditioner need not be exact.
  Eigen::ArrayXf diagonal() const {
    Eigen::ArrayXd sum = Eigen::ArrayXd::Zero(std::ssize(weights));
    for (std::int64_t i = 0; i < sentences(); ++i) {
      const auto words = (*this)[i];
      const auto l = static_cast<double>(words.size());
      for (const std::int32_t w : words) sum[w] += 1 / (l * l);
    }
    const Eigen::Map<const Eigen::ArrayXf> c(weights.data(), std::ssize(weights));
    return sum.cast<float>() * c.square();
  }
};

PanelRow<double> dot(const Panel& a, const Panel& b) {
  PanelRow<double> sum = PanelRow<double>::Zero();
  constexpr std::int64_t kPiece = 256;  // sums of few numbers in float, of many in double
  for (std::int64_t first = 0; first < a.rows(); first += kPiece) {
    const std::int64_t count = std::min(kPiece, a.rows() - first);
    sum += (a.middleRows(first, count) * b.middleRows(first, count)).colwise().sum().cast<double>();
  }
  return sum;
}

/// Columns [first, first + 16) of a matrix, padded with zeros.
template <typename From, typename T = typename From::Scalar>
PanelOf<T> block(const From& matrix, std::int64_t first) {
  const std::int64_t count = std::min(kColumns, static_cast<std::int64_t>(matrix.cols()) - first);
  PanelOf<T> panel = PanelOf<T>::Zero(matrix.rows(), kColumns);
  panel.leftCols(count) = matrix.middleCols(first, count).array();
  return panel;
}

/// body(first column), for blocks of columns, on all threads.
void for_columns(std::int64_t dim, const std::function<void(std::int64_t)>& body) {
  parallel_for(0, (dim + kColumns - 1) / kColumns, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) body(block * kColumns);
  });
}

/// Solves 16 columns by conjugate gradients from x = W0, with a diagonal preconditioner. Steps are computed
/// in float and restarted from a residual in double until that is small enough. Returns the largest residual,
/// relative to the right-hand side's norm (or `least`, if larger), and the number of steps.
std::pair<double, std::int64_t> conjugate_gradients(const Operator& a, const Eigen::ArrayXf& diagonal,
                                                    const PanelD& right, double least,
                                                    const DistillOptions& options,
                                                    const std::function<void()>& on_step, Panel& x) {
  constexpr int kRestarts = 6;
  const auto penalty = static_cast<float>(options.penalty);
  const Eigen::ArrayXf inverse = (diagonal + penalty).max(1e-30F).inverse();
  const PanelD whole = right + options.penalty * x.cast<double>();
  const PanelRow<double> length = whole.square().colwise().sum().sqrt().max(least);
  Panel weighted(x.rows(), kColumns), q(x.rows(), kColumns);
  std::int64_t step = 0;
  for (int restart = 1;; ++restart) {
    Panel r;
    double residual = 0;
    {
      const PanelD exact = x.cast<double>();
      PanelD scratch(x.rows(), kColumns), product(x.rows(), kColumns);
      on_step();
      a.gram(exact, scratch, product);
      product = whole - product - options.penalty * exact;
      residual = (product.square().colwise().sum().sqrt() / length).maxCoeff();
      r = product.cast<float>();
    }
    if (residual <= options.tolerance || step >= options.iterations || restart == kRestarts)
      return {residual, step};
    Panel z = r.colwise() * inverse, p = z;
    PanelRow<double> rz = dot(r, z);
    while (step < options.iterations && (dot(r, r).sqrt() / length).maxCoeff() > 0.5 * options.tolerance) {
      on_step();
      a.gram(p, weighted, q);
      q += penalty * p;
      const PanelRow<double> pq = dot(p, q);
      const PanelRow<float> alpha = (pq > 0).select(rz / pq, PanelRow<double>::Zero()).cast<float>();
      x += p.rowwise() * alpha;
      r -= q.rowwise() * alpha;
      z = r.colwise() * inverse;
      const PanelRow<double> next = dot(r, z);
      const PanelRow<float> beta = (rz > 0).select(next / rz, PanelRow<double>::Zero()).cast<float>();
      p = z + p.rowwise() * beta;
      rz = next;
      ++step;
    }
  }
}

}  // namespace

MatrixD Moments::map(double ridge) const {
  ST_CHECK(std::isfinite(ridge) && ridge > 0, InvalidInput, "ridge must be positive and finite, got ", ridge);
  const double squares = gram.trace(), product = cross.trace();
  if (!(squares > 0)) return MatrixD::Identity(gram.rows(), gram.cols());
  const double alpha = product > 0 ? product / squares : 1;
  const double weight = ridge * squares / static_cast<double>(gram.rows());
  MatrixD left = (gram + gram.transpose()) / 2, right = cross;
  left.diagonal().array() += weight;
  right.diagonal().array() += weight * alpha;
  return left.llt().solve(right);
}

MatrixD Moments::axes(std::int64_t count) const {
  ST_CHECK(count > 0 && count <= gram.rows(), InvalidInput, "count must be 1 to ", gram.rows(), ", got ",
           count);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver((gram + gram.transpose()) / 2);
  ST_CHECK(solver.info() == Eigen::Success, InvalidInput, "the eigenvalue decomposition did not converge");
  MatrixD axes = solver.eigenvectors().rowwise().reverse().leftCols(count);
  for (std::int64_t j = 0; j < count; ++j) {  // the solver leaves signs open
    std::int64_t largest = 0;
    axes.col(j).cwiseAbs().maxCoeff(&largest);
    if (axes(largest, j) < 0) axes.col(j) *= -1;
  }
  return axes;
}

Matrix mapped(const Matrix& table, const MatrixD& map) {
  constexpr std::int64_t kRows = 256;
  ST_CHECK(table.cols() == map.rows(), InvalidInput, "map must have ", table.cols(), " rows, got ",
           map.rows());
  Matrix result(table.rows(), map.cols());
  // Pieces of fixed size, so that the number of threads changes no bit.
  parallel_for(0, (table.rows() + kRows - 1) / kRows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t first = piece * kRows, rows = std::min(kRows, table.rows() - first);
      const MatrixD x = table.middleRows(first, rows).cast<double>();
      result.middleRows(first, rows) = MatrixD(x * map).cast<float>();
    }
  });
  return result;
}

Distillation::Distillation(StringTable words, Tokenizer tokenizer, std::vector<float> weights,
                           std::int64_t dim)
    : words_(std::move(words)), tokenizer_(std::move(tokenizer)), weights_(std::move(weights)) {
  ST_CHECK(words_.size() > 0, InvalidInput, "there are no words");
  ST_CHECK(dim > 0, InvalidInput, "dim must be positive, got ", dim);
  ST_CHECK(std::ssize(weights_) == words_.size(), InvalidInput, "weights must be one for each of ",
           words_.size(), " words, got ", weights_.size());
  for (const float c : weights_) {
    ST_CHECK(std::isfinite(c) && c > 0, InvalidInput, "weights must be positive and finite, got ", c);
  }
  right_.setZero(words_.size(), dim);
  ones_.setZero(words_.size());
  sum_.setZero(dim);
  squares_.setZero(dim);
}

void Distillation::add(const Sentences& sentences, const ConstMatrixView& rows) {
  constexpr std::int64_t kGrain = 512;
  check_complete();
  const std::int64_t n = sentences.size();
  ST_CHECK(rows.rows() == n && rows.cols() == dim(), InvalidInput, "rows must be [", n, ", ", dim(),
           "], one for each sentence, got [", rows.rows(), ", ", rows.cols(), "]");
  std::vector<std::vector<std::int32_t>> ids(static_cast<std::size_t>(n));
  parallel_for(0, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    Tokens tokens;
    for (std::int64_t i = begin; i < end; ++i) {
      ST_CHECK(rows.row(i).allFinite(), InvalidInput, "row ", i, " has NaN or infinity");
      tokens.clear();
      tokenizer_(sentences, i, tokens);
      for (const std::string_view token : tokens.views()) {
        const std::int32_t id = words_.find(token);
        if (id != StringTable::kMissing) ids[static_cast<std::size_t>(i)].push_back(id);
      }
    }
  });
  complete_ = false;
  // Each thread sums some columns over all sentences, in order.
  for_columns(dim(), [&](std::int64_t first) {
    const std::int64_t count = std::min(kColumns, dim() - first);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto& words = ids[static_cast<std::size_t>(i)];
      if (words.empty()) continue;
      const Eigen::RowVectorXd t = rows.row(i).segment(first, count).cast<double>();
      sum_.segment(first, count) += t.transpose();
      squares_.segment(first, count) += t.transpose().cwiseAbs2();
      for (const std::int32_t w : words) right_.row(w).segment(first, count) += entry(w, words) * t;
    }
  });
  for (const auto& words : ids) {
    if (words.empty()) continue;
    for (const std::int32_t w : words) ones_[w] += entry(w, words);
    ids_.insert(ids_.end(), words.begin(), words.end());
    offsets_.push_back(std::ssize(ids_));
  }
  complete_ = true;
}

double Distillation::entry(std::int32_t word, const std::vector<std::int32_t>& words) const {
  return static_cast<double>(weights_[static_cast<std::size_t>(word)]) / static_cast<double>(words.size());
}

void Distillation::merge(const Distillation& other) {
  ST_CHECK(&other != this, InvalidInput, "it cannot be merged with itself");
  check_complete();
  other.check_complete();
  bool same = other.dim() == dim() && other.weights_ == weights_ && other.words() == words();
  for (std::int64_t w = 0; same && w < words(); ++w) same = words_[w] == other.words_[w];
  ST_CHECK(same, InvalidInput, "both must have the same words, weights and dim");
  const std::int64_t before = tokens();
  ids_.insert(ids_.end(), other.ids_.begin(), other.ids_.end());
  for (std::size_t i = 1; i < other.offsets_.size(); ++i) offsets_.push_back(before + other.offsets_[i]);
  right_ += other.right_;
  ones_ += other.ones_;
  sum_ += other.sum_;
  squares_ += other.squares_;
}

std::vector<std::int64_t> Distillation::counts() const {
  std::vector<std::int64_t> counts(weights_.size());
  for (const std::int32_t w : ids_) ++counts[static_cast<std::size_t>(w)];
  return counts;
}

VectorD Distillation::mean() const {
  return sum_ / static_cast<double>(std::max<std::int64_t>(1, sentences()));
}

Distillation Distillation::columns(const std::vector<std::int64_t>& dims) const {
  check_complete();
  for (const std::int64_t j : dims) {
    ST_CHECK(j >= 0 && j < dim(), InvalidInput, "columns must be 0 to ", dim() - 1, ", got ", j);
  }
  Distillation selected = *this;
  selected.right_ = right_(Eigen::all, dims);
  selected.sum_ = sum_(dims);
  selected.squares_ = squares_(dims);
  return selected;
}

Moments Distillation::moments(const Matrix& table) const {
  check(table, "table");
  constexpr std::int64_t kRows = 256;  // sums of few numbers in float, of many in double
  const Operator a{ids_, offsets_, weights_};
  const VectorD m = mean();
  Moments moments{.gram = MatrixD::Zero(dim(), dim()), .cross = MatrixD::Zero(dim(), dim())};
  for_columns(dim(), [&](std::int64_t first) {
    poll_interrupt();
    const std::int64_t count = std::min(kColumns, dim() - first);
    const PanelD w = block(table, first).cast<double>();
    PanelD weighted(w.rows(), kColumns), q(w.rows(), kColumns);
    a.gram(w, weighted, q);
    for (std::int64_t row = 0; row < words(); row += kRows) {
      const std::int64_t rows = std::min(kRows, words() - row);
      const auto w_t = table.middleRows(row, rows).transpose();  // [dim, rows]
      const Matrix gram = q.block(row, 0, rows, count).matrix().cast<float>();
      const Matrix cross = (right_.block(row, first, rows, count) -
                            ones_.segment(row, rows) * m.segment(first, count).transpose())
                               .cast<float>();
      moments.gram.middleCols(first, count) += (w_t * gram).cast<double>();
      moments.cross.middleCols(first, count) += (w_t * cross).cast<double>();
    }
  });
  return moments;
}

double Distillation::error(const Matrix& table, const VectorD& mean) const {
  check(table, "table");
  ST_CHECK(mean.size() == dim(), InvalidInput, "mean must have ", dim(), " dimensions, got ", mean.size());
  const auto [squares, product] = products(table, right_side(mean));
  const double total =
      squares_.sum() - 2 * mean.dot(sum_) + static_cast<double>(sentences()) * mean.squaredNorm();
  return total > 0 ? std::max(0.0, 1 + (squares - 2 * product) / total) : 0;
}

Distilled Distillation::solve(const Matrix& prior, const DistillOptions& options) const {
  check(prior, "prior");
  ST_CHECK(std::isfinite(options.penalty) && options.penalty >= 0, InvalidInput,
           "penalty must be 0 or more, and finite, got ", options.penalty);
  ST_CHECK(options.tolerance > 0, InvalidInput, "tolerance must be positive, got ", options.tolerance);
  ST_CHECK(options.iterations > 0, InvalidInput, "iterations must be positive, got ", options.iterations);
  const Operator a{ids_, offsets_, weights_};
  const Eigen::ArrayXf diagonal = a.diagonal();
  const VectorD m = mean();
  // Some teachers have dimensions that are nearly zero: their rounding errors do not matter.
  const double least =
      std::max(1e-30, 1e-6 * std::sqrt(right_side(m).squaredNorm() / static_cast<double>(dim())));
  Distilled solution{.table = Matrix(words(), dim())};
  std::vector<std::pair<double, std::int64_t>> ends(
      static_cast<std::size_t>((dim() + kColumns - 1) / kColumns));
  // Only one thread is notified of Ctrl-C; the others stop at their next step.
  std::atomic<bool> stopped = false;
  const auto on_step = [&stopped] {
    if (stopped) throw Interrupted();
    try {
      poll_interrupt();
    } catch (...) {
      stopped = true;
      throw;
    }
  };
  const auto solve_block = [&](std::int64_t first, std::int64_t count) {
    const MatrixD b = right_.middleCols(first, count) - ones_ * m.segment(first, count).transpose();
    Panel x = block(prior, first);
    const auto [residual, iterations] =
        conjugate_gradients(a, diagonal, block(b, 0), least, options, on_step, x);
    Distilled solved{.table = x.leftCols(count).matrix(), .residual = residual, .iterations = iterations};
    if (options.save) options.save(first, solved);
    return solved;
  };
  for_columns(dim(), [&](std::int64_t first) {
    const std::int64_t count = std::min(kColumns, dim() - first);
    std::optional<Distilled> solved = options.load ? options.load(first) : std::nullopt;
    if (!solved || solved->table.rows() != words() || solved->table.cols() != count)
      solved = solve_block(first, count);
    solution.table.middleCols(first, count) = solved->table;
    ends[static_cast<std::size_t>(first / kColumns)] = {solved->residual, solved->iterations};
    if (options.progress) options.progress(count);
  });
  for (const auto& [residual, iterations] : ends) {
    solution.residual = std::max(solution.residual, residual);
    solution.iterations = std::max(solution.iterations, iterations);
  }
  return solution;
}

std::string Distillation::digest(const Matrix& prior, const DistillOptions& options) const {
  check(prior, "prior");
  Sha256 hash;
  const auto add = [&hash](const auto& values) {
    const std::int64_t size = std::ssize(values);
    hash.update(std::as_bytes(std::span(&size, 1)));
    hash.update(std::as_bytes(std::span(values)));
  };
  const auto elements = [](const auto& matrix) {
    return std::span(matrix.data(), static_cast<std::size_t>(matrix.size()));
  };
  add(std::vector{words(), dim(), options.iterations});
  add(std::vector{options.penalty, options.tolerance});
  add(ids_);
  add(offsets_);
  add(weights_);
  for (const auto& sums : {elements(ones_), elements(sum_), elements(squares_), elements(right_)}) add(sums);
  add(elements(prior));
  return hash.hex();
}

/// |A W|^2 and <A W, T'>, where b = A^T T'
std::pair<double, double> Distillation::products(const Matrix& table, const MatrixD& b) const {
  const Operator a{ids_, offsets_, weights_};
  std::vector<std::pair<double, double>> blocks(static_cast<std::size_t>((dim() + kColumns - 1) / kColumns));
  for_columns(dim(), [&](std::int64_t first) {
    const PanelD w = block(table, first).cast<double>();
    PanelD weighted(w.rows(), kColumns), q(w.rows(), kColumns);
    a.gram(w, weighted, q);
    const std::int64_t count = std::min(kColumns, dim() - first);
    const double product =
        table.middleCols(first, count).cast<double>().cwiseProduct(b.middleCols(first, count)).sum();
    blocks[static_cast<std::size_t>(first / kColumns)] = {(w * q).sum(), product};
  });
  std::pair<double, double> sum{0, 0};
  for (const auto& [squares, product] : blocks) {
    sum.first += squares;
    sum.second += product;
  }
  return sum;
}

MatrixD Distillation::right_side(const VectorD& mean) const { return right_ - ones_ * mean.transpose(); }

void Distillation::check(const Matrix& table, const char* name) const {
  check_complete();
  ST_CHECK(table.rows() == words() && table.cols() == dim(), InvalidInput, name, " must be [", words(), ", ",
           dim(), "], got [", table.rows(), ", ", table.cols(), "]");
  ST_CHECK(table.allFinite(), InvalidInput, name, " has NaN or infinity");
}

void Distillation::check_complete() const {
  ST_CHECK(complete_, InvalidInput,
           "a call of `add` was interrupted, which leaves some sums incomplete; start again");
}

}  // namespace sentencode
