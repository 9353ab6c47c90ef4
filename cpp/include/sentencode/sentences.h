#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "sentencode/error.h"

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
  /// InvalidInput unless the offsets are in order and within `pieces`.
  void check() const {
    ST_CHECK(!tokenised() || (offsets.front() >= 0 && std::ranges::is_sorted(offsets) &&
                              static_cast<std::uint64_t>(offsets.back()) <= pieces.size()),
             InvalidInput, "sentences: offsets must rise from 0 or more to at most ", pieces.size(),
             ", the number of tokens");
  }
  /// Sentences [begin, end).
  Sentences slice(std::int64_t begin, std::int64_t end) const {
    const auto from = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    if (!tokenised()) return {pieces.subspan(from, count), {}, first + begin};
    return {pieces, offsets.subspan(from, count + 1), first + begin};
  }
};

}  // namespace sentencode
