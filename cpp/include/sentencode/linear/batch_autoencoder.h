#pragma once

#include <cstdint>
#include <memory>

#include "sentencode/dense.h"
#include "sentencode/linear/aligned_sentences.h"
#include "sentencode/linear/autoencoder.h"

namespace sentencode {

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
