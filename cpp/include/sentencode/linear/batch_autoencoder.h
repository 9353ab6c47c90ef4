#pragma once

#include <cstdint>
#include <memory>

#include "sentencode/dense.h"
#include "sentencode/linear/aligned_sentences.h"
#include "sentencode/linear/autoencoder.h"

namespace sentencode {

/// Encodes and reconstructs batches by matrix products only. With R_k = B^k A,
///
///   h_l = sum_(k<l) R_k x_(l-k),     sum of the l reconstructed words = M_l^T h_l,  M_l = sum_(k<l) R_k.
///
/// Tables of R_k and M_l are computed when they are needed, for as many positions as sentences have had, but
/// at most kTableBytes; longer sentences use them in several turns.
class BatchAutoencoder {
 public:
  static constexpr std::int64_t kTableBytes = 128 << 20;

  explicit BatchAutoencoder(Autoencoder parameters);
  const Autoencoder& parameters() const { return parameters_; }

  /// h_l of every row [size, p]. Adds each row's words, minus centre, to `sum` [size, n], unless it is null.
  Matrix states(const AlignedSentences& sentences, const WeightedWords& words, Matrix* sum) const;
  /// Sum of each row's reconstructed words, minus centre [size, n].
  Matrix reconstructed_sums(const AlignedSentences& sentences, Matrix h) const;

 private:
  enum class Table { powers, sums };  // R_0, R_1, ... or M_1, M_2, ..., stacked [positions p, n]
  std::int64_t turn() const;          // K: maximum of positions in the tables
  std::shared_ptr<const Matrix> table(Table which, std::int64_t positions) const;
  const Matrix& power() const;  // B^K [p, p]

  Autoencoder parameters_;
  struct Lazy;
  std::shared_ptr<Lazy> lazy_;
};

}  // namespace sentencode
