#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sentencode {

/// The rows that fastText gives the pieces of a word, itself between "<" and ">": all its runs of lengths[0]
/// to lengths[1] characters, hashed into so many buckets. Into `out`, which is cleared; in fastText's order.
void subwords_of(std::string_view word, std::array<std::int32_t, 2> lengths, std::int64_t buckets,
                 std::vector<std::int64_t>& out);

}  // namespace sentencode
