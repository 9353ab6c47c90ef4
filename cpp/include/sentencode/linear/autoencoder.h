#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

/// The linear autoencoder for sequences (LAES), paper 004, section IV: n inputs, p hidden units.
///
///   h_t = A x_t + B h_(t-1)                    (1)
///   x_t = A^T h_t,  h_(t-1) = B^T h_t          (2)
///
/// With the singular value decomposition Xi = V S U^T of the data matrix, and U_i the i-th n x p block of U,
/// the optimal parameters are A = U_1^T and B = sum_i U_(i+1)^T U_i: the paper's Q^T, for every p, without V
/// and without a division. Both are contractions together (A A^T + B B^T <= I), and those of a smaller p are
/// their corners.
struct Autoencoder {
  Matrix a;                  // [p, n]
  Matrix b;                  // [p, p]
  Matrix u;                  // [p, L n]: U^T, where the state is to be the projection on it; else empty
  Vector singular_values;    // [p], falling
  Vector centre;             // [n], taken from every x before it is encoded and given back after; empty: zero
  std::int64_t longest = 0;  // L: of the sentences that it was fitted to
  std::int64_t rank =
      0;  // beyond it, singular values are zero to the arithmetic's precision, and rows as well

  std::int64_t hidden() const { return a.rows(); }  // p
  std::int64_t dim() const { return a.cols(); }     // n

  /// The corners of size p. InvalidInput when p > hidden().
  Autoencoder truncated(std::int64_t p) const;

  /// The states [l, p] of words x [l, n] in the order of reading.
  Matrix states(const Matrix& x) const;
  /// l words [l, n] in the order of reading, from the state after the last of them.
  Matrix decode(const Vector& h, std::int64_t l) const;
};

/// Solves for p hidden units, by the smallest of three problems: C; as long as all sentences wait, K = Xi
/// Xi^T, or C in fewer columns (see TailBasis). p may exceed the rank: then the remaining rows are zero.
/// InvalidInput when no word was seen, or when the memory does not suffice, also for the sums and the results
/// of as many `others`.
Autoencoder fit_autoencoder(const PrefixGram& gram, const WeightedWords& words, std::int64_t p, bool centred,
                            bool keep_u, std::int64_t others = 0);

/// Some sentences side by side, longest first: what happens at one position happens to a run of rows.
class AlignedSentences {
 public:
  /// Position 0 is the last word in the order of `reading`, or the first.
  enum class End { last, first };
  AlignedSentences(const RaggedIds& sentences, std::int64_t begin, std::int64_t end, Reading reading, End at);

  std::int64_t size() const { return std::ssize(order_); }
  std::int64_t longest() const { return std::ssize(longer_); }
  std::int64_t sentence(std::int64_t row) const {
    return order_[static_cast<std::size_t>(row)];
  }  // its number
  std::int64_t length(std::int64_t row) const { return std::ssize(words_of(row)); }
  /// The first so many rows have a word at position k.
  std::int64_t longer(std::int64_t k) const {
    return k < longest() ? longer_[static_cast<std::size_t>(k)] : 0;
  }

  /// x of positions [first, last), less centre unless that is empty: longer(first) rows, then longer(first +
  /// 1) ... Where `sum` [size, n] is given, the rows' words are added to it.
  Matrix words(const WeightedWords& words, const Vector& centre, std::int64_t first, std::int64_t last,
               Matrix* sum = nullptr) const;

 private:
  std::span<const std::int32_t> words_of(std::int64_t row) const {
    return (*sentences_)[order_[static_cast<std::size_t>(row)]];
  }

  const RaggedIds* sentences_;
  bool from_back_;                    // of the ids
  std::vector<std::int64_t> order_;   // [rows]
  std::vector<std::int64_t> longer_;  // [longest]
};

/// An autoencoder ready for batches: states and sums of reconstructed words by products alone. With R_k = B^k
/// A,
///
///   h_l = sum_(k<l) R_k x_(l-k),     sum of the l reconstructed words = M_l^T h_l,  M_l = sum_(k<l) R_k.
///
/// Tables of R_k and M_l hold as many positions as sentences have asked for, and no more than fit in
/// kTableBytes; longer sentences go through them in several turns. A table that nobody asks for is not made.
class BatchAutoencoder {
 public:
  static constexpr std::int64_t kTableBytes = 128 << 20;

  explicit BatchAutoencoder(Autoencoder parameters);
  const Autoencoder& parameters() const { return parameters_; }

  /// h_l of every row [size, p]; the sums of the rows' words [size, n], less centre, are added to `sum` if
  /// given.
  Matrix states(const AlignedSentences& sentences, const WeightedWords& words, Matrix* sum) const;
  /// The sums of the reconstructed words, less centre, of every row [size, n].
  Matrix reconstructed_sums(const AlignedSentences& sentences, Matrix h) const;

 private:
  enum class Table { powers, sums };  // R_0, R_1, ... or M_1, M_2, ..., one below the other [positions p, n]
  std::int64_t turn() const;          // K: the positions that the tables hold at most
  std::shared_ptr<const Matrix> table(Table which, std::int64_t positions) const;
  const Matrix& power() const;  // B^K [p, p]

  Autoencoder parameters_;
  struct Lazy;
  std::shared_ptr<Lazy> lazy_;
};

}  // namespace sentencode
