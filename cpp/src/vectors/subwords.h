#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sentencode {

/// Writes the buckets of fastText's subwords of a word to `out`, in fastText's order: all n-grams of
/// lengths[0] to lengths[1] characters of "<word>", hashed.
void subwords_of(std::string_view word, std::array<std::int32_t, 2> lengths, std::int64_t buckets,
                 std::vector<std::int64_t>& out);

}  // namespace sentencode
