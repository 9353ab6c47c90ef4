// Internals of WordVectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

inline constexpr std::string_view kVectorsFormat = "sentencode.vectors";
inline constexpr std::int64_t kRandomRows = 256;     // of unknown words, for the policy `random`
inline constexpr std::int64_t kRowsPerPiece = 1024;  // per piece of work

inline const RaggedIds kNoneMade;  // for ids of the table only

struct WordVectors::Lazy {
  std::once_flag once;
  std::string fingerprint;
};

inline constexpr std::int32_t kLongestSubword = 1000;  // characters
inline bool are_lengths(std::array<std::int32_t, 2> lengths) {
  return lengths[0] >= 0 && lengths[0] <= lengths[1] && lengths[1] <= kLongestSubword;
}

/// Stores a row; InvalidInput if a value cannot be stored.
void store_checked(std::span<const float> values, Storage storage, std::byte* row, float* scale,
                   std::string_view word);

}  // namespace sentencode
