// What the files of Laes share: how sentences are taken some at once, and what is made of states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sentencode/linear/aligned_sentences.h"
#include "sentencode/linear/laes_options.h"
#include "sentencode/sentences.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

inline constexpr std::int64_t kLookup = 8192;    // sentences whose ids are found at once
inline constexpr std::int64_t kText = 32 << 20;  // bytes of text that are looked at at once
inline constexpr std::int64_t kTokens = 32768;   // words that are multiplied at once

inline std::string_view name_of(Reading reading) {
  return reading == Reading::forward ? "forward" : "backward";
}

/// Calls block(begin, end) for runs of sentences of about `tokens` words: a long sentence is one alone.
template <typename Block>
void for_blocks(const RaggedIds& ids, std::int64_t tokens, const Block& block) {
  for (std::int64_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const std::int64_t full = ids.offsets[static_cast<std::size_t>(begin)] + tokens;
    for (end = begin + 1; end < ids.size() && ids.offsets[static_cast<std::size_t>(end) + 1] <= full;) ++end;
    block(begin, end);
  }
}

/// The end of a run of sentences from `begin`: at most `most`, of at most kText bytes, but one at least. Of a
/// sentence, max_length words count.
std::int64_t run_end(const Sentences& sentences, std::int64_t begin, std::int64_t most,
                     std::int64_t max_length = kText);

/// e of every row from its sum of words less centre, its sum of reconstructions less centre, and h; as mode
/// asks.
Matrix embeddings(LaesOptions::Mode mode, const AlignedSentences& rows, const Vector& centre,
                  const Matrix& sums, Matrix reconstructed, const Matrix& h);

}  // namespace sentencode
