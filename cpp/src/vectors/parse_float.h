#pragma once

namespace sentencode {

/// A decimal number at the beginning of [begin, end), correctly rounded; too large ones are infinite. At
/// least kParseFloatPadding bytes behind `end` must be readable. Returns where the number ends, or `begin` if
/// there is none.
const char* parse_float(const char* begin, const char* end, float& value);
inline constexpr int kParseFloatPadding = 16;

}  // namespace sentencode
