// An autoencoder of every hidden size in turn.
#pragma once

#include <cstdint>

#include "sentencode/linear/aligned_sentences.h"
#include "sentencode/linear/autoencoder.h"

namespace sentencode {

/// How many words a Sweep takes at once: what it keeps of each is a row of so many numbers.
std::int64_t sweep_tokens(const Autoencoder& m);

/// Calls piece(first, last) for runs of positions at which some sentences have about `tokens` words.
template <typename Piece>
void for_positions(const AlignedSentences& rows, std::int64_t tokens, const Piece& piece) {
  for (std::int64_t first = 0, last = 0; first < rows.longest(); first = last) {
    std::int64_t words = rows.longer(last++);
    while (last < rows.longest() && words + rows.longer(last) <= tokens) words += rows.longer(last++);
    piece(first, last);
  }
}

/// The paper's recursions for every hidden size in turn: what does not depend on the size is computed once,
/// unless it is of a sentence so long that it could not be kept.
class Sweep {
 public:
  Sweep(const Autoencoder& parameters, const RaggedIds& ids, const WeightedWords& words, Reading reading);

  const AlignedSentences& rows() const { return rows_; }
  const Matrix& sums() const { return sums_; }  // of every row's words, less centre [size, n]

  /// h_l of every row [size, p].
  Matrix states(std::int64_t p) const;
  /// sum_i x~_i of every row [size, n], less centre: A^T (I + B^T + ... + (B^T)^(l-1)) h, by
  /// Horner's rule.
  Matrix reconstructed_sums(const Matrix& h) const;

 private:
  const Autoencoder& m_;
  const WeightedWords& words_;
  AlignedSentences rows_;
  std::int64_t tokens_;  // that are taken at once
  Matrix sums_;
  Matrix inputs_;     // A x_t [tokens, P], position by position; empty where they are more
  Matrix projected_;  // U^T z [size, P], where the state is the projection
};

}  // namespace sentencode
