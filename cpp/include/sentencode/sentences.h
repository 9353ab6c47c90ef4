#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sentencode {

/// A batch of sentences, seen and not owned: raw text, or text that is already split into tokens.
struct Sentences {
  std::span<const std::string_view>
      pieces;                             // the sentences; or the tokens of all of them, one after the other
  std::span<const std::int64_t> offsets;  // empty for raw text; else [n + 1]: sentence i has the tokens
                                          // pieces[offsets[i]] .. pieces[offsets[i + 1] - 1]

  bool tokenised() const { return !offsets.empty(); }
  std::int64_t size() const {
    return static_cast<std::int64_t>(tokenised() ? offsets.size() - 1 : pieces.size());
  }
  /// Some of them.
  Sentences slice(std::int64_t begin, std::int64_t end) const {
    const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    if (!tokenised()) return {pieces.subspan(first, count), {}};
    return {pieces, offsets.subspan(first, count + 1)};
  }
};

}  // namespace sentencode
