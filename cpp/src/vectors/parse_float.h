#pragma once

namespace sentencode {

/// Parses a decimal number at the beginning of [begin, end), correctly rounded, infinite on overflow. At
/// least kParseFloatPadding bytes after `end` must be readable. Returns the end of the number, or `begin` if
/// there is none.
const char* parse_float(const char* begin, const char* end, float& value);
inline constexpr int kParseFloatPadding = 16;

}  // namespace sentencode
