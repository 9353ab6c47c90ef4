// What the files of WordVectors share.
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
inline constexpr std::int64_t kRandomRows = 256;     // that stand for unknown words under the policy `random`
inline constexpr std::int64_t kRowsPerPiece = 1024;  // of work over the whole table

inline const RaggedIds kNoneMade;  // for ids that are all the table's

struct WordVectors::Lazy {
  std::once_flag once;
  std::string fingerprint;
};

inline bool are_lengths(std::array<std::int32_t, 2> lengths) {
  return lengths[0] >= 0 && lengths[0] <= lengths[1];
}

/// Stores one row, or says what is wrong with it.
void store_checked(std::span<const float> values, Storage storage, std::byte* row, float* scale,
                   std::string_view word);

}  // namespace sentencode
