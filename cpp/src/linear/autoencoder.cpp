#include "sentencode/linear/autoencoder.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// Up to this size, the decomposition is done in double; it then costs seconds at most.
constexpr std::int64_t kDouble = 3000;
// The dual problem is solved up to this size, and never where the primal one is smaller.
constexpr std::int64_t kLargestDual = 4096;

// Eigenvalues below this part of the largest are the arithmetic's noise. (Sums over words of 128 dimensions
// and more come from products in float: see PrefixGram.)
constexpr double kNoiseOfDouble = 1e-12, kNoiseOfMixed = 1e-10, kNoiseOfFloat = 1e-7;

template <typename T>
std::int64_t rank_of(const Eigen::Matrix<T, Eigen::Dynamic, 1>& eigenvalues, double noise) {
  return (eigenvalues.array() > static_cast<T>(noise) * std::max(T(0), eigenvalues[0])).count();
}

// A, B and what goes with them from the leading rows of U^T [p, L n].
template <typename T>
Autoencoder from_singular_vectors(Spectrum<T> c, std::int64_t n, std::int64_t p, double noise, bool keep_u) {
  const std::int64_t width = c.vectors.cols(), found = c.values.size();
  Autoencoder result;
  result.rank = rank_of(c.values, noise);
  c.vectors.bottomRows(found - result.rank).setZero();
  RowMajor<T> b(found, found);  // sum_i U_(i+1)^T U_i
  gemm(Op::none, Op::transpose, T(1), c.vectors.rightCols(width - n), c.vectors.leftCols(width - n), T(0), b);
  result.a = Matrix::Zero(p, n);
  result.b = Matrix::Zero(p, p);
  result.singular_values = Vector::Zero(p);
  result.a.topRows(found) = c.vectors.leftCols(n).template cast<float>();
  result.b.topLeftCorner(found, found) = b.template cast<float>();
  result.singular_values.head(result.rank) = c.values.head(result.rank).array().sqrt().template cast<float>();
  result.longest = width / n;
  if (keep_u) {
    result.u = Matrix::Zero(p, width);
    result.u.topRows(found) = c.vectors.template cast<float>();
  }
  return result;
}

template <typename T>
Autoencoder fit_primal(const PrefixGram& gram, std::int64_t p, const std::optional<VectorD>& centre,
                       bool keep_u) {
  constexpr bool kIsDouble = std::is_same_v<T, double>;
  RowMajor<T> c = gram.covariance<T>(centre);
  TopOptions options;
  if (kIsDouble) options.tolerance = 1e-11;
  const std::int64_t found = std::min(p, c.rows());
  const double noise = !kIsDouble ? kNoiseOfFloat : gram.sums_in_double() ? kNoiseOfDouble : kNoiseOfMixed;
  return from_singular_vectors(top_eigenpairs(std::move(c), found, options), gram.dim(), p, noise, keep_u);
}

/// The distinct prefixes of some sentences, shorter before longer: rows of Xi that are equal count as one.
struct PrefixTree {
  std::vector<std::int32_t> last;    // the id of the prefix's last word
  std::vector<std::int64_t> parent;  // the prefix without it; -1: none is left
  std::vector<double> count;

  // False, and of no use, when there are more than `limit`.
  bool build(const RaggedIds& sentences, Reading reading, std::int64_t limit) {
    std::unordered_map<std::uint64_t, std::int64_t> known;
    for (std::int64_t s = 0; s < sentences.size(); ++s) {
      const auto ids = sentences[s];
      std::int64_t at = -1;
      for (std::size_t t = 0; t < ids.size(); ++t) {
        const std::int32_t id = reading == Reading::forward ? ids[t] : ids[ids.size() - 1 - t];
        const auto key = static_cast<std::uint64_t>(at + 1) << 32 | static_cast<std::uint32_t>(id);
        const auto [found, is_new] = known.try_emplace(key, std::ssize(last));
        if (is_new) {
          if (std::ssize(last) == limit) return false;
          last.push_back(id);
          parent.push_back(at);
          count.push_back(0);
        }
        at = found->second;
        ++count[static_cast<std::size_t>(at)];
      }
    }
    return true;
  }

  std::int64_t size() const { return std::ssize(last); }
};

// By the eigenvectors of K = Xi Xi^T, with equal rows of Xi taken together (counted D times):
//   D^1/2 K D^1/2 = V S^2 V^T,   U^T = S^-1 V^T D^1/2 Xi,   B = S^-1 V^T D^1/2 R D^-1/2 V S,
// where R takes every prefix to its parent. K obeys K_ab = x_a . x_b + K_(parent of a)(parent of b).
Autoencoder fit_dual(const PrefixGram& gram, const PrefixTree& tree, const WeightedWords& words,
                     std::int64_t p, const std::optional<VectorD>& centre, bool keep_u) {
  const std::int64_t n = gram.dim(), size = tree.size();
  const auto parent = [&](std::int64_t a) { return tree.parent[static_cast<std::size_t>(a)]; };
  MatrixD x(size, n);
  Vector word(n);
  for (std::int64_t a = 0; a < size; ++a) {
    words.row(tree.last[static_cast<std::size_t>(a)], word.data());
    x.row(a) = word.transpose().cast<double>();
  }
  if (centre) x.rowwise() -= centre->transpose();

  MatrixD k = product(x, x, Op::none, Op::transpose);
  for (std::int64_t a = 0; a < size; ++a) {
    for (std::int64_t b = 0; b < size && parent(a) >= 0; ++b) {
      if (parent(b) >= 0) k(a, b) += k(parent(a), parent(b));
    }
  }
  const VectorD root_count = Eigen::Map<const VectorD>(tree.count.data(), size).cwiseSqrt();
  k = root_count.asDiagonal() * k * root_count.asDiagonal();

  const std::int64_t found = std::min(p, size);
  Spectrum<double> spectrum = top_eigenpairs(std::move(k), found, {.tolerance = 1e-12});
  const std::int64_t rank = rank_of(spectrum.values, kNoiseOfDouble);
  const MatrixD& v = spectrum.vectors;                       // [found, size]
  const VectorD s = spectrum.values.head(rank).cwiseSqrt();  // [rank]
  const MatrixD project =
      s.cwiseInverse().asDiagonal() * v.topRows(rank) * root_count.asDiagonal();  // S^-1 V^T D^1/2
  MatrixD shifted = MatrixD::Zero(rank, size);                                    // S V^T D^-1/2 R^T
  for (std::int64_t a = 0; a < size; ++a) {
    if (parent(a) >= 0) {
      shifted.col(a) = s.array() * v.col(parent(a)).head(rank).array() / root_count[parent(a)];
    }
  }

  Autoencoder result;
  result.rank = rank;
  result.longest = gram.longest();
  result.a = Matrix::Zero(p, n);
  result.b = Matrix::Zero(p, p);
  result.singular_values = Vector::Zero(p);
  result.a.topRows(rank) = product(project, x).cast<float>();
  result.b.topLeftCorner(rank, rank) = product(project, shifted, Op::none, Op::transpose).cast<float>();
  result.singular_values.head(rank) = s.cast<float>();
  if (keep_u) {
    result.u = Matrix::Zero(p, result.longest * n);
    std::vector<std::int64_t> back(static_cast<std::size_t>(size));  // the prefix i words shorter
    std::iota(back.begin(), back.end(), 0);
    for (std::int64_t i = 0; i < result.longest; ++i) {
      MatrixD earlier = MatrixD::Zero(size, n);  // Xi_i
      for (std::int64_t a = 0; a < size; ++a) {
        auto& at = back[static_cast<std::size_t>(a)];
        if (at >= 0) {
          earlier.row(a) = x.row(at);
          at = parent(at);
        }
      }
      result.u.block(0, i * n, rank, n) = product(project, earlier).cast<float>();
    }
  }
  return result;
}

}  // namespace

Autoencoder fit_autoencoder(PrefixGram& gram, const WeightedWords& words, std::int64_t p, bool centred,
                            bool keep_u) {
  ST_CHECK(p >= 1, InvalidInput, "hidden must be at least 1, got ", p);
  ST_CHECK(gram.tokens() > 0, InvalidInput, "there is nothing to fit to: no sentence had a known word");
  std::optional<VectorD> centre;
  if (centred) centre = gram.mean(words);

  PrefixTree tree;
  const std::int64_t width = gram.longest() * gram.dim();
  const bool small =
      gram.only_waiting() && tree.build(gram.waiting(), gram.reading(), std::min(width, kLargestDual));
  if (!small) gram.absorb(words);
  Autoencoder result = small              ? fit_dual(gram, tree, words, p, centre, keep_u)
                       : width <= kDouble ? fit_primal<double>(gram, p, centre, keep_u)
                                          : fit_primal<float>(gram, p, centre, keep_u);
  if (centre) result.centre = centre->cast<float>();
  return result;
}

Autoencoder Autoencoder::truncated(std::int64_t p) const {
  ST_CHECK(p >= 1 && p <= hidden(), InvalidInput, "hidden must be 1 to ", hidden(), ", got ", p);
  return {.a = a.topRows(p),
          .b = b.topLeftCorner(p, p),
          .u = u.topRows(std::min(p, u.rows())),
          .singular_values = singular_values.head(p),
          .centre = centre,
          .longest = longest,
          .rank = std::min(rank, p)};
}

Matrix Autoencoder::states(const Matrix& x) const {
  ST_CHECK(x.cols() == dim(), InvalidInput, "words must have ", dim(), " dimensions, got ", x.cols());
  Matrix h(x.rows(), hidden());
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    h.row(t) = x.row(t) * a.transpose();  // A x_t
    if (centre.size() > 0) h.row(t) -= (a * centre).transpose();
    if (t > 0) h.row(t) += h.row(t - 1) * b.transpose();  // + B h_(t-1)
  }
  return h;
}

Matrix Autoencoder::decode(const Vector& h, std::int64_t l) const {
  ST_CHECK(h.size() == hidden(), InvalidInput, "a state has ", hidden(), " numbers, got ", h.size());
  ST_CHECK(l >= 0, InvalidInput, "length must not be negative, got ", l);
  Matrix x(l, dim());
  Vector state = h;
  for (Eigen::Index t = l - 1; t >= 0; --t) {
    x.row(t) = (a.transpose() * state).transpose();  // x_t = A^T h_t
    if (centre.size() > 0) x.row(t) += centre.transpose();
    state = (b.transpose() * state).eval();  // h_(t-1) = B^T h_t
  }
  return x;
}

AlignedSentences::AlignedSentences(const RaggedIds& sentences, std::int64_t begin, std::int64_t end,
                                   Reading reading, End at)
    : sentences_(&sentences), from_back_((reading == Reading::forward) == (at == End::last)) {
  order_.resize(static_cast<std::size_t>(end - begin));
  std::iota(order_.begin(), order_.end(), begin);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](auto a, auto b) { return sentences[a].size() > sentences[b].size(); });
  if (order_.empty()) return;
  longer_.resize(words_of(0).size());
  for (std::int64_t row = 0, k = longest(); k-- > 0;) {
    while (row < size() && length(row) > k) ++row;
    longer_[static_cast<std::size_t>(k)] = row;
  }
}

Matrix AlignedSentences::words(const WeightedWords& words, const Vector& centre, std::int64_t first,
                               std::int64_t last, Matrix* sum) const {
  std::vector<std::int64_t> start{0};  // of the rows of positions first, first + 1, ...
  for (std::int64_t k = first; k < last; ++k) start.push_back(start.back() + longer(k));
  Matrix x(start.back(), words.dim());
  parallel_for(0, longer(first), 64, [&](std::int64_t row_begin, std::int64_t row_end) {
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const auto ids = words_of(row);
      const std::int64_t end = std::min(last, std::ssize(ids));
      const auto id_at = [&](std::int64_t k) {
        return ids[static_cast<std::size_t>(from_back_ ? std::ssize(ids) - 1 - k : k)];
      };
      for (std::int64_t k = first; k < end; ++k) words.vectors()->prefetch(id_at(k));
      for (std::int64_t k = first; k < end; ++k) {
        auto out = x.row(start[static_cast<std::size_t>(k - first)] + row);
        words.row(id_at(k), out.data());
        if (centre.size() > 0) out -= centre.transpose();
        if (sum != nullptr) sum->row(row) += out;
      }
    }
  });
  return x;
}

struct BatchAutoencoder::Tables {
  std::int64_t positions;  // K
  Matrix powers;           // [K p, n]: R_k = B^k A, one below the other; empty where U is used instead
  Matrix sums;             // [K p, n]: M_1, M_2, ..., M_K
};

struct BatchAutoencoder::Lazy {
  std::once_flag tables_once, power_once;
  Tables tables;
  Matrix power;  // B^K [p, p]
};

BatchAutoencoder::BatchAutoencoder(Autoencoder parameters)
    : parameters_(std::move(parameters)), lazy_(std::make_shared<Lazy>()) {}

const BatchAutoencoder::Tables& BatchAutoencoder::tables() const {
  std::call_once(lazy_->tables_once, [this] {
    const std::int64_t p = parameters_.hidden(), n = parameters_.dim();
    Tables& t = lazy_->tables;
    t.positions = std::clamp<std::int64_t>(kTableBytes / (p * n * std::int64_t{sizeof(float)}), 1,
                                           std::max<std::int64_t>(1, parameters_.longest));
    const bool by_u = parameters_.u.size() > 0;
    t.powers.resize(by_u ? 0 : t.positions * p, n);
    t.sums.resize(t.positions * p, n);
    const MatrixD b = parameters_.b.cast<double>();
    MatrixD r = parameters_.a.cast<double>(), sum = r;  // [p, n]
    for (std::int64_t k = 0; k < t.positions; ++k) {
      if (k > 0) {
        r = product(b, r);  // R_k = B R_(k-1)
        sum += r;
      }
      if (!by_u) t.powers.middleRows(k * p, p) = r.cast<float>();
      t.sums.middleRows(k * p, p) = sum.cast<float>();
    }
  });
  return lazy_->tables;
}

const Matrix& BatchAutoencoder::power() const {
  std::call_once(lazy_->power_once, [this] {
    MatrixD square = parameters_.b.cast<double>();
    MatrixD result = MatrixD::Identity(square.rows(), square.cols());
    for (std::int64_t k = tables().positions; k > 0; k /= 2) {
      if (k % 2 == 1) result = product(result, square);
      if (k > 1) square = product(square, square);
    }
    lazy_->power = result.cast<float>();
  });
  return lazy_->power;
}

Matrix BatchAutoencoder::states(const AlignedSentences& sentences, const WeightedWords& words,
                                Matrix* sum) const {
  const Autoencoder& m = parameters_;
  const std::int64_t p = m.hidden(), n = m.dim();
  const bool by_u = m.u.size() > 0;
  const std::int64_t turn = by_u ? m.longest : tables().positions;  // K
  Matrix h = Matrix::Zero(sentences.size(), p);
  for (std::int64_t c = (sentences.longest() + turn - 1) / turn; c-- > 0;) {
    const std::int64_t first = c * turn, last = std::min(first + turn, sentences.longest());
    const std::int64_t begun = sentences.longer(last);
    if (begun > 0 && !by_u)
      h.topRows(begun) = product<float>(h.topRows(begun), power(), Op::none, Op::transpose);
    const Matrix x = sentences.words(words, m.centre, first, last, sum);
    for (std::int64_t k = first, at = 0; k < last && !(by_u && c > 0); ++k) {
      const std::int64_t rows = sentences.longer(k);
      const ConstRef<float> r = by_u ? ConstRef<float>(m.u.middleCols(k * n, n))
                                     : ConstRef<float>(tables().powers.middleRows((k - first) * p, p));
      gemm(Op::none, Op::transpose, 1.0F, x.middleRows(at, rows), r, 1.0F,
           h.topRows(rows));  // h += x_(l-k) R_k^T
      at += rows;
    }
  }
  return h;
}

Matrix BatchAutoencoder::reconstructed_sums(const AlignedSentences& sentences, Matrix h) const {
  const Tables& t = tables();
  const std::int64_t p = parameters_.hidden(), n = parameters_.dim(), turn = t.positions;
  Matrix out = Matrix::Zero(sentences.size(), n);
  const auto add = [&](std::int64_t row, std::int64_t rows, std::int64_t l) {  // M_l^T h
    gemm(Op::none, Op::none, 1.0F, h.middleRows(row, rows), t.sums.middleRows((l - 1) * p, p), 1.0F,
         out.middleRows(row, rows));
  };
  for (std::int64_t done = 0; done < sentences.longest(); done += turn) {
    const std::int64_t going_on = sentences.longer(done + turn);
    if (going_on > 0) {
      add(0, going_on, turn);
      h.topRows(going_on) = product<float>(h.topRows(going_on), power());  // h_(t-K) = (B^T)^K h_t
    }
    for (std::int64_t row = going_on, next; row < sentences.longer(done); row = next) {  // runs of one length
      const std::int64_t l = sentences.length(row) - done;
      next = sentences.longer(done + l - 1);
      add(row, next - row, l);
    }
  }
  return out;
}

}  // namespace sentencode
