// Evaluation of an autoencoder at many hidden sizes.
#pragma once

#include <cstdint>

#include "sentencode/linear/aligned_sentences.h"
#include "sentencode/linear/autoencoder.h"

namespace sentencode {

/// Words that a Sweep processes at once, which bounds its memory.
std::int64_t sweep_tokens(const Autoencoder& m);

/// Calls piece(first, last) for ranges of positions with about `tokens` words of the batch.
template <typename Piece>
void for_positions(const AlignedSentences& rows, std::int64_t tokens, const Piece& piece) {
  for (std::int64_t first = 0, last = 0; first < rows.longest(); first = last) {
    std::int64_t words = rows.size_at(last++);
    while (last < rows.longest() && words + rows.size_at(last) <= tokens) words += rows.size_at(last++);
    piece(first, last);
  }
}

/// The paper's recursions for one hidden size after the other. What does not depend on the size is computed
/// once, unless sentences are so long that it would not fit.
class Sweep {
 public:
  Sweep(const Autoencoder& parameters, const RaggedIds& ids, const WeightedWords& words, Reading reading);

  const AlignedSentences& rows() const { return rows_; }
  const Matrix& sums() const { return sums_; }  // of each row's words, minus centre [size, n]

  /// h_l of every row [size, p].
  Matrix states(std::int64_t p) const;
  /// sum_i x~_i of every row [size, n], minus centre: A^T (I + B^T + ... + (B^T)^(l-1)) h, by Horner's rule.
  Matrix reconstructed_sums(const Matrix& h) const;

 private:
  const Autoencoder& m_;
  const WeightedWords& words_;
  AlignedSentences rows_;
  std::int64_t tokens_;  // processed at once
  Matrix sums_;
  Matrix inputs_;     // A x_t [tokens, P], position by position; empty if there are more
  Matrix projected_;  // U^T z [size, P], if states are projections
};

}  // namespace sentencode
