#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sentencode {

/// A view of a batch of sentences: raw text, or lists of tokens.
struct Sentences {
  std::span<const std::string_view> pieces;  // the sentences; or the tokens of all of them, concatenated
  std::span<const std::int64_t> offsets;     // [n + 1]: sentence i has the tokens pieces[offsets[i]] ..
                                             // pieces[offsets[i + 1] - 1]; empty for raw text
  std::int64_t first = 0;                    // index of sentence 0 in the caller's list, for messages

  bool tokenised() const { return !offsets.empty(); }
  std::int64_t size() const {
    return static_cast<std::int64_t>(tokenised() ? offsets.size() - 1 : pieces.size());
  }
  /// Sentences [begin, end).
  Sentences slice(std::int64_t begin, std::int64_t end) const {
    const auto from = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    if (!tokenised()) return {pieces.subspan(from, count), {}, first + begin};
    return {pieces, offsets.subspan(from, count + 1), first + begin};
  }
};

}  // namespace sentencode
