#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

/// The way in which a sentence is read.
enum class Reading { forward, backward };

/// All that the linear autoencoder for sequences depends on, of any number of sentences, in memory that does
/// not grow with them. With the paper's data matrix Xi (one row for every prefix of every sentence, last word
/// first)
///
///   C = Xi^T Xi,   C_ij = G_ij + C_(i+1)(j+1),   G_ij = sum over sentences longer than max(i, j) of
///                                                       x_(l-i) x_(l-j)^T
///
/// so G is kept, from whole sentences aligned at their right ends, and Xi is never formed. Sums of parts are
/// the sum of the whole: it streams and merges. Words [n] are counted as they are; centring is done when C is
/// asked for, from sums by length and position that are kept beside G.
///
/// The newest sentences wait as ids, and are taken into G in batches of kWaiting tokens. So the result does
/// not depend on how the sentences were cut into calls, and as long as nothing else was seen, smaller
/// problems can be solved instead (see fit_autoencoder).
///
/// A value. Copies share G until one of them takes something into it: whoever wants to try something works on
/// a copy.
class PrefixGram {
 public:
  static constexpr std::int64_t kWaiting = 1 << 18;

  /// Of every sentence the first max_length words are used.
  PrefixGram(Reading reading, std::int64_t dim, std::int64_t max_length);

  /// These wait from now on. Asks nobody for Ctrl-C.
  void add(const RaggedIds& sentences);
  /// Both must have been made with the same words, reading and max_length. Asks nobody for Ctrl-C.
  void merge(const PrefixGram& other);
  /// Takes waiting sentences into G: all of them, or whole batches. All or none: interrupted, it leaves
  /// everything as it was. InvalidInput when the memory does not suffice for G, a copy of it, and as much for
  /// each of the `others` that are kept beside it, such as those of the other reading.
  void absorb(const WeightedWords& words, std::int64_t others = 0) { absorb(words, waiting_.size(), others); }
  void absorb_batches(const WeightedWords& words, std::int64_t others = 0);
  bool batch_is_full() const { return std::ssize(waiting_.ids) >= kWaiting; }

  Reading reading() const { return reading_; }
  std::int64_t dim() const { return dim_; }  // n
  std::int64_t max_length() const { return max_length_; }
  std::int64_t longest() const { return longest_; }      // L: of all sentences seen, at most max_length
  std::int64_t sentences() const { return sentences_; }  // that were not empty
  std::int64_t tokens() const { return tokens_; }
  bool sums_in_double() const { return sums_in_double(dim_); }
  bool only_waiting() const { return absorbed_length() == 0; }
  const RaggedIds& waiting() const { return waiting_; }  // as written, first word first

  /// The mean of x over all tokens [n].
  VectorD mean(const WeightedWords& words) const;

  /// C [L n, L n], of x or of x less `centre`. Nothing may be waiting.
  template <typename T>
  RowMajor<T> covariance(const std::optional<VectorD>& centre) const;
  /// The same into memory that is there.
  template <typename T>
  void covariance(const std::optional<VectorD>& centre, MutableRef<T> out) const;

  /// Whether no product of such words is rounded to float.
  static bool sums_in_double(std::int64_t dim);
  /// What G takes, in bytes.
  static double bytes(std::int64_t longest, std::int64_t dim);
  /// InvalidInput unless there is memory for G of sentences of this length, a copy, and so many `others`.
  static void check_memory(std::int64_t length, std::int64_t dim, std::int64_t others);

  /// What a file holds of it.
  struct State {
    Reading reading = Reading::forward;
    std::int64_t dim = 0, max_length = 0, sentences = 0, tokens = 0;
    MatrixD gram;                      // [L (L + 1) / 2 n, n], see Sums
    MatrixD sums;                      // [L (L + 1) / 2, n], its parts
    std::vector<std::int64_t> counts;  // [L]
    RaggedIds waiting;
  };
  State state() const;
  explicit PrefixGram(State state);  // InvalidInput when the parts do not fit each other

 private:
  struct Sums {
    // The upper block triangle of G, block column j (its j + 1 blocks, one above the other) after block
    // column j - 1.
    MatrixD gram;
    // For every length l, then position i < l from the end: the sum of x_(l-i) over the sentences of exactly
    // that length.
    MatrixD parts;
    std::vector<std::int64_t> counts;  // of sentences of length 1, 2, ...
  };

  std::int64_t absorbed_length() const { return std::ssize(sums_->counts); }
  std::shared_ptr<Sums> grown(std::int64_t length, std::int64_t others = 0) const;
  void absorb(const WeightedWords& words, std::int64_t sentences, std::int64_t others);
  void absorb_batch(std::int64_t begin, std::int64_t end, const WeightedWords& words, Sums& sums) const;
  template <typename T>
  void absorb_rows(std::span<const std::int64_t> rows, const WeightedWords& words, Sums& sums) const;

  Reading reading_;
  std::int64_t dim_, max_length_, longest_ = 0, sentences_ = 0, tokens_ = 0;
  RaggedIds waiting_;
  std::shared_ptr<const Sums> sums_;  // never null
};

}  // namespace sentencode
