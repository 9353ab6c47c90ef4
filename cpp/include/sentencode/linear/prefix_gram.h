#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/enum_names.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

/// The direction in which a sentence is read.
enum class Reading { forward, backward };
constexpr EnumNames<2> enum_names(Reading) { return {"direction", {"forward", "backward"}}; }

/// The statistics of the linear autoencoder for sequences, whose size does not depend on the number of
/// sentences. With the paper's data matrix Xi (one row per prefix of every sentence, last word first)
///
///   C = Xi^T Xi,   C_ij = G_ij + C_(i+1)(j+1),   G_ij = sum over sentences longer than max(i, j) of
///                                                       x_(l-i) x_(l-j)^T
///
/// so G is computed from whole sentences aligned at their right ends, without Xi, in any number of parts that
/// are added. Words [n] are not centred; C is centred later, by sums by length and position.
///
/// The newest sentences wait as ids, and are added to G in batches of kWaiting tokens. Therefore the result
/// does not depend on how sentences were distributed over calls, and while all sentences are waiting, smaller
/// problems can be solved instead (see fit_autoencoder).
///
/// Copies share G until one of them is changed.
class PrefixGram {
 public:
  static constexpr std::int64_t kWaiting = 1 << 18;

  /// Only the first max_length words of a sentence are used.
  PrefixGram(Reading reading, std::int64_t dim, std::int64_t max_length);

  /// Appends to the waiting sentences. Does not poll for Ctrl-C.
  void add(const RaggedIds& sentences);
  /// Adds statistics of the same words, reading and max_length. Does not poll for Ctrl-C.
  void merge(const PrefixGram& other);
  /// Adds waiting sentences to G: all of them, or whole batches. If it is interrupted, nothing has changed.
  /// InvalidInput if there is not enough memory for G, a copy of it, and as much for each of the `others` in
  /// memory, such as those of the other reading.
  void absorb(const WeightedWords& words, std::int64_t others = 0) { absorb(words, waiting_.size(), others); }
  void absorb_batches(const WeightedWords& words, std::int64_t others = 0);
  bool batch_is_full() const { return std::ssize(waiting_.ids) >= kWaiting; }

  Reading reading() const { return reading_; }
  std::int64_t dim() const { return dim_; }  // n
  std::int64_t max_length() const { return max_length_; }
  std::int64_t longest() const { return longest_; }      // L: of all sentences, at most max_length
  std::int64_t sentences() const { return sentences_; }  // without empty ones
  std::int64_t tokens() const { return tokens_; }
  bool sums_in_double() const { return sums_in_double(dim_); }
  bool only_waiting() const { return absorbed_length() == 0; }
  const RaggedIds& waiting() const { return waiting_; }  // first word first

  /// The mean of x over all tokens [n].
  VectorD mean(const WeightedWords& words) const;

  /// C [L n, L n], of x or of x minus `centre`. No sentence may be waiting.
  template <typename T>
  RowMajor<T> covariance(const std::optional<VectorD>& centre) const;
  /// The same, written to `out`.
  template <typename T>
  void covariance(const std::optional<VectorD>& centre, MutableRef<T> out) const;

  /// Whether products of words of this size are computed in double.
  static bool sums_in_double(std::int64_t dim);
  /// Bytes of G.
  static double bytes(std::int64_t longest, std::int64_t dim);
  /// InvalidInput unless there is memory for G of sentences of this length, a copy, and `others` more.
  static void check_memory(std::int64_t length, std::int64_t dim, std::int64_t others);

  /// The content of a file.
  struct State {
    Reading reading = Reading::forward;
    std::int64_t dim = 0, max_length = 0, sentences = 0, tokens = 0;
    MatrixD gram;                      // [L (L + 1) / 2 n, n], see Sums
    MatrixD sums;                      // [L (L + 1) / 2, n], its parts
    std::vector<std::int64_t> counts;  // [L]
    RaggedIds waiting;
  };
  State state() const;
  explicit PrefixGram(State state);  // InvalidInput if the parts are inconsistent

 private:
  struct Sums {
    // The upper block triangle of G, block column by block column; the j + 1 blocks of column j are stacked.
    MatrixD gram;
    // For every length l, and position i < l from the end: the sum of x_(l-i) over the sentences of length l.
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
