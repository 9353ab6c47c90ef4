// Internals of Laes: blocks of sentences, and embeddings from states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sentencode/linear/aligned_sentences.h"
#include "sentencode/linear/laes_options.h"
#include "sentencode/sentences.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

inline constexpr std::int64_t kLookup = 8192;    // sentences per lookup
inline constexpr std::int64_t kText = 32 << 20;  // bytes of text per lookup
inline constexpr std::int64_t kTokens = 32768;   // words per product

/// Calls block(begin, end) for ranges of sentences with about `tokens` words, or one longer sentence.
template <typename Block>
void for_blocks(const RaggedIds& ids, std::int64_t tokens, const Block& block) {
  for (std::int64_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const std::int64_t full = ids.offsets[static_cast<std::size_t>(begin)] + tokens;
    for (end = begin + 1; end < ids.size() && ids.offsets[static_cast<std::size_t>(end) + 1] <= full;) ++end;
    block(begin, end);
  }
}

/// End of a range of sentences from `begin`: at most `most` of at most kText bytes, but at least one. Only
/// max_length words of a sentence count.
std::int64_t run_end(const Sentences& sentences, std::int64_t begin, std::int64_t most,
                     std::int64_t max_length = kText);

/// e of every row, by mode, from the sum of its words minus centre, the sum of their reconstructions minus
/// centre, and h.
Matrix embeddings(LaesOptions::Mode mode, const AlignedSentences& rows, const Vector& centre,
                  const Matrix& sums, Matrix reconstructed, const Matrix& h);

}  // namespace sentencode
