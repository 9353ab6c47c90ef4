#include "sentencode/linear/fit_autoencoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decompositions.h"
#include "sentencode/error.h"
#include "sentencode/memory.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// C of waiting sentences is decomposed in double up to this size, which takes seconds at most. C of sums
// always is: the order of summation changes them slightly, which float would amplify if eigenvalues are
// nearly equal.
constexpr std::int64_t kDouble = 3000;
// The dual problem is solved up to this size, if the primal one is not smaller.
constexpr std::int64_t kLargestDual = 4096;

// Eigenvalues below this fraction of the largest are rounding errors. Products of words of 128 dimensions or
// more are computed in float (see PrefixGram).
constexpr double kNoiseOfDouble = 1e-12, kNoiseOfFloat = 1e-6;

template <typename T>
std::int64_t rank_of(const Eigen::Matrix<T, Eigen::Dynamic, 1>& eigenvalues, double noise) {
  return (eigenvalues.array() > static_cast<T>(noise) * std::max(T(0), eigenvalues[0])).count();
}

// The parameters from the leading rows of U^T [p, L n].
template <typename T>
Autoencoder from_singular_vectors(Spectrum<T> c, std::int64_t n, std::int64_t p, double noise, bool keep_u) {
  const std::int64_t width = c.vectors.cols(), pairs = c.values.size();
  Autoencoder result;
  result.rank = rank_of(c.values, noise);
  c.vectors.bottomRows(pairs - result.rank).setZero();
  RowMajor<T> b(pairs, pairs);  // sum_i U_(i+1)^T U_i
  gemm(Op::none, Op::transpose, T(1), c.vectors.rightCols(width - n), c.vectors.leftCols(width - n), T(0), b);
  result.a = Matrix::Zero(p, n);
  result.b = Matrix::Zero(p, p);
  result.singular_values = Vector::Zero(p);
  result.a.topRows(pairs) = c.vectors.leftCols(n).template cast<float>();
  result.b.topLeftCorner(pairs, pairs) = b.template cast<float>();
  result.singular_values.head(result.rank) = c.values.head(result.rank).array().sqrt().template cast<float>();
  result.longest = width / n;
  if (keep_u) {
    result.u = Matrix::Zero(p, width);
    result.u.topRows(pairs) = c.vectors.template cast<float>();
  }
  return result;
}

/// Refuses problems that exceed the memory: the system would grant it, and kill the process when it is used.
/// used: Bytes of the statistics. others: Number of other results of the same size.
template <typename T>
void check_memory(std::int64_t columns, std::int64_t p, double used, std::int64_t others) {
  const auto width = static_cast<double>(columns), units = static_cast<double>(p);
  const auto square = static_cast<double>(sizeof(T)) * width * width;
  const double result = 4 * units * (units + width);
  const double bytes = used + square + top_eigenpairs_bytes<T>(columns, std::min(p, columns)) +
                       static_cast<double>(1 + others) * result;
  const auto most = static_cast<double>(memory_limit());
  ST_CHECK(bytes <= most, InvalidInput, "a matrix of ", columns, " columns and ", p, " hidden units need ",
           std::llround(std::ceil(bytes / 1e9)), " GB, of ", std::llround(most / 1e9),
           " GB in total: use a smaller max_length or hidden");
}

template <typename T>
double noise_of(bool sums_in_double) {
  return std::is_same_v<T, double> && sums_in_double ? kNoiseOfDouble : kNoiseOfFloat;
}

template <typename T>
Spectrum<T> leading(RowMajor<T> c, std::int64_t p) {
  TopOptions options;
  if (std::is_same_v<T, double>) options.tolerance = c.rows() <= kDouble ? 1e-11 : 1e-9;
  const std::int64_t pairs = std::min<std::int64_t>(p, c.rows());
  return top_eigenpairs(std::move(c), pairs, options);
}

Autoencoder fit_primal(const PrefixGram& gram, std::int64_t p, const std::optional<VectorD>& centre,
                       bool keep_u, std::int64_t others) {
  const double sums = PrefixGram::bytes(gram.longest(), gram.dim());
  check_memory<double>(gram.longest() * gram.dim(), p, static_cast<double>(1 + others) * sums, others);
  return from_singular_vectors(leading(gram.covariance<double>(centre), p), gram.dim(), p,
                               noise_of<double>(gram.sums_in_double()), keep_u);
}

/// A reduction of the columns of Xi. Few sentences are long, so that only `rows` of its rows extend beyond
/// block `head`. There, an orthonormal basis of these rows replaces (L - head) n columns by `rows`.
struct Reduction {
  std::int64_t head = 0, rows = 0, columns = 0;  // columns: head n + rows

  Reduction(const RaggedIds& sentences, std::int64_t longest, std::int64_t n) {
    constexpr std::int64_t kMostRows = 1024;  // limits the time for the basis
    std::vector<std::int64_t> longer(static_cast<std::size_t>(longest) + 1);
    for (std::int64_t s = 0; s < sentences.size(); ++s)
      ++longer[sentences[s].size()];  // of this length, at first
    head = longest;
    columns = longest * n;
    // Number of prefixes of more than k words: that of k + 1, and one for each sentence of more than k words.
    for (std::int64_t k = longest - 1, sentences_longer = 0, beyond = 0; k >= 0; --k) {
      sentences_longer += longer[static_cast<std::size_t>(k) + 1];
      beyond += sentences_longer;
      if (beyond > std::min(kMostRows, (longest - k) * n)) break;
      if (k * n + beyond < columns) {
        head = k;
        rows = beyond;
        columns = k * n + beyond;
      }
    }
  }
};

/// C += Y^T Y for a symmetric C: computes the upper triangle and mirrors it.
template <typename T>
void add_square(const RowMajor<T>& y, RowMajor<T>& c) {
  constexpr std::int64_t kStrip = 512;
  for (std::int64_t begin = 0; begin < c.cols(); begin += kStrip) {
    poll_interrupt();
    const std::int64_t count = std::min(kStrip, c.cols() - begin), end = begin + count;
    gemm(Op::transpose, Op::none, T(1), y.leftCols(end), y.middleCols(begin, count), T(1),
         c.block(0, begin, end, count));
    c.block(begin, 0, count, begin) = c.block(0, begin, begin, count).transpose();
  }
}

/// Decomposes C with reduced columns, C_head + [Y F]^T [Y F]. Y and Z = F Q are the left and right parts of
/// the rows that extend beyond block `head`, where Q has orthonormal rows. C_head is C of all other rows, the
/// prefixes of up to `head` words.
template <typename T>
Autoencoder fit_reduced(const PrefixGram& gram, const Reduction& reduction, const WeightedWords& words,
                        std::int64_t p, const std::optional<VectorD>& centre, bool keep_u,
                        std::int64_t others) {
  const std::int64_t n = gram.dim(), left = reduction.head * n, right = (gram.longest() - reduction.head) * n;
  check_memory<T>(reduction.columns, p, PrefixGram::bytes(reduction.head, n), others);
  RowMajor<T> c(reduction.columns, reduction.columns);
  RowMajor<T> y = RowMajor<T>::Zero(reduction.rows, reduction.columns),
              z = RowMajor<T>::Zero(reduction.rows, right);  // [Y F], Z

  PrefixGram short_ones(gram.reading(), n, gram.max_length());
  {
    RaggedIds prefixes;
    std::vector<std::int32_t> read;  // a sentence in reading order
    RowMajor<T> x;
    Vector word(n);
    std::int64_t row = 0;
    for (std::int64_t s = 0; s < gram.waiting().size(); ++s) {
      const auto ids = gram.waiting()[s];
      const std::int64_t length = std::ssize(ids), short_length = std::min(length, reduction.head);
      const auto prefix = gram.reading() == Reading::forward
                              ? ids.first(static_cast<std::size_t>(short_length))
                              : ids.last(static_cast<std::size_t>(short_length));
      prefixes.ids.insert(prefixes.ids.end(), prefix.begin(), prefix.end());
      prefixes.offsets.push_back(std::ssize(prefixes.ids));
      if (length <= reduction.head) continue;
      read.assign(ids.begin(), ids.end());
      if (gram.reading() == Reading::backward) std::reverse(read.begin(), read.end());
      x.resize(length, n);
      for (std::int64_t t = 0; t < length; ++t) {
        words.row(read[static_cast<std::size_t>(t)], word.data());
        x.row(t) = word.transpose().cast<T>();
        if (centre) x.row(t) -= centre->transpose().template cast<T>();
      }
      for (std::int64_t t = reduction.head; t < length; ++t, ++row) {  // the prefix that ends with word t
        for (std::int64_t i = 0; i <= t; ++i) {
          auto out =
              i < reduction.head ? y.block(row, i * n, 1, n) : z.block(row, (i - reduction.head) * n, 1, n);
          out = x.row(t - i);
        }
      }
    }
    ST_INVARIANT(row == reduction.rows);
    short_ones.add(prefixes);
  }
  if (left > 0) {
    short_ones.absorb(words);
    short_ones.covariance<T>(centre, c.topLeftCorner(left, left));
    short_ones = PrefixGram(gram.reading(), n, gram.max_length());  // frees memory
  }
  c.rightCols(reduction.rows).setZero();
  c.bottomRows(reduction.rows).setZero();
  y.rightCols(reduction.rows) = orthonormalise_rows(z).transpose();  // z := Q
  add_square(y, c);
  y.resize(0, 0);

  Spectrum<T> spectrum = leading(std::move(c), p);
  RowMajor<T> vectors(spectrum.vectors.rows(), left + right);
  vectors.leftCols(left) = spectrum.vectors.leftCols(left);
  gemm(Op::none, Op::none, T(1), spectrum.vectors.rightCols(reduction.rows), z, T(0),
       vectors.rightCols(right));
  spectrum.vectors = std::move(vectors);
  return from_singular_vectors(std::move(spectrum), n, p, noise_of<T>(gram.sums_in_double()), keep_u);
}

/// The distinct prefixes of some sentences, shorter before longer, which are the distinct rows of Xi.
struct PrefixTree {
  std::vector<std::int32_t> last;    // the id of the prefix's last word
  std::vector<std::int64_t> parent;  // the prefix without it; -1 if that is empty
  std::vector<double> count;

  // False if there are more than `limit`; the tree is incomplete then.
  bool build(const RaggedIds& sentences, Reading reading, std::int64_t limit) {
    std::unordered_map<std::uint64_t, std::int64_t> prefixes;
    for (std::int64_t s = 0; s < sentences.size(); ++s) {
      const auto ids = sentences[s];
      std::int64_t at = -1;
      for (std::size_t t = 0; t < ids.size(); ++t) {
        const std::int32_t id = reading == Reading::forward ? ids[t] : ids[ids.size() - 1 - t];
        const auto key = static_cast<std::uint64_t>(at + 1) << 32 | static_cast<std::uint32_t>(id);
        const auto [entry, is_new] = prefixes.try_emplace(key, std::ssize(last));
        if (is_new) {
          if (std::ssize(last) == limit) return false;
          last.push_back(id);
          parent.push_back(at);
          count.push_back(0);
        }
        at = entry->second;
        ++count[static_cast<std::size_t>(at)];
      }
    }
    return true;
  }

  std::int64_t size() const { return std::ssize(last); }
};

// From the eigenvectors of K = Xi Xi^T over distinct rows of Xi, which occur D times:
//   D^1/2 K D^1/2 = V S^2 V^T,   U^T = S^-1 V^T D^1/2 Xi,   B = S^-1 V^T D^1/2 R D^-1/2 V S,
// where R maps every prefix to its parent, and K_ab = x_a . x_b + K_(parent of a)(parent of b).
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

  Spectrum<double> spectrum = top_eigenpairs(std::move(k), std::min(p, size), {.tolerance = 1e-12});
  const std::int64_t rank = rank_of(spectrum.values, kNoiseOfDouble);
  const MatrixD& v = spectrum.vectors;                       // [min(p, size), size]
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
    std::vector<std::int64_t> back(static_cast<std::size_t>(size));  // the prefix without its last i words
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

/// The same sentences, sorted, so that results do not depend on their order.
PrefixGram ordered(const PrefixGram& gram) {
  const RaggedIds& waiting = gram.waiting();
  std::vector<std::int64_t> order(static_cast<std::size_t>(waiting.size()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::ranges::lexicographical_compare(waiting[a], waiting[b]);
  });
  RaggedIds sentences;
  for (const std::int64_t s : order) {
    sentences.ids.insert(sentences.ids.end(), waiting[s].begin(), waiting[s].end());
    sentences.offsets.push_back(std::ssize(sentences.ids));
  }
  PrefixGram sorted(gram.reading(), gram.dim(), gram.max_length());
  sorted.add(sentences);
  return sorted;
}

}  // namespace

Autoencoder fit_autoencoder(const PrefixGram& statistics, const WeightedWords& words, std::int64_t p,
                            bool centred, bool keep_u, std::int64_t others) {
  ST_CHECK(p >= 1, InvalidInput, "hidden must be at least 1, got ", p);
  ST_CHECK(statistics.tokens() > 0, InvalidInput, "there is nothing to fit to: no sentence had a known word");
  const PrefixGram gram = statistics.only_waiting() ? ordered(statistics) : statistics;
  std::optional<VectorD> centre;
  if (centred) centre = gram.mean(words);

  Autoencoder result;
  if (gram.only_waiting()) {
    const Reduction reduction(gram.waiting(), gram.longest(), gram.dim());
    PrefixTree tree;
    if (tree.build(gram.waiting(), gram.reading(), std::min(reduction.columns, kLargestDual))) {
      check_memory<double>(tree.size(), p, 0, others);
      result = fit_dual(gram, tree, words, p, centre, keep_u);
    } else {
      result = reduction.columns <= kDouble
                   ? fit_reduced<double>(gram, reduction, words, p, centre, keep_u, others)
                   : fit_reduced<float>(gram, reduction, words, p, centre, keep_u, others);
    }
  } else {
    PrefixGram absorbed = gram;
    absorbed.absorb(words);
    result = fit_primal(absorbed, p, centre, keep_u, others);
  }
  if (centre) result.centre = centre->cast<float>();
  return result;
}

Autoencoder autoencoder_of(Spectrum<double> c, std::int64_t n, std::int64_t p, bool sums_in_double,
                           bool keep_u) {
  return from_singular_vectors(std::move(c), n, p, noise_of<double>(sums_in_double), keep_u);
}

}  // namespace sentencode
