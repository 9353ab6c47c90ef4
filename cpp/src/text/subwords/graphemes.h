#pragma once

#include <cstddef>
#include <string_view>

namespace sentencode {

/// Bytes of the extended grapheme cluster at the beginning of valid UTF-8, which must not be empty, in
/// Unicode 17.
std::size_t grapheme_length(std::string_view text);

}  // namespace sentencode
