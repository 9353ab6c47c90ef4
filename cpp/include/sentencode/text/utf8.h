#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sentencode {

/// One code point, or a piece that is none.
struct CodePoint {
  char32_t code = 0;  // kInvalid for a bad piece
  std::size_t length =
      0;  // its bytes; of a bad piece: the longest beginning of a code point there is, or one byte

  static constexpr char32_t kInvalid = 0xFFFFFFFF;
  bool valid() const { return code != kInvalid; }
};

/// The code point at the beginning of `text`, which must not be empty.
CodePoint decode_utf8(std::string_view text);

/// Writes at most four bytes and returns how many.
std::size_t encode_utf8(char32_t code, char* out);

bool is_ascii(std::string_view text);

/// Where the first bad piece begins; npos when all is UTF-8.
std::size_t find_invalid_utf8(std::string_view text);

/// The text with each bad piece as U+FFFD, cut up as Unicode recommends and Python's errors="replace" does.
std::string repair_utf8(std::string_view text);

/// Simple lower case (one code point for one) of valid UTF-8 into `out`, which has room for
/// lowercase_bound(text.size()) bytes. Returns how many were written.
std::size_t lowercase_utf8(std::string_view text, char* out);
constexpr std::size_t lowercase_bound(std::size_t bytes) {
  return bytes + bytes / 2;
}  // two bytes become three at most

/// The lower case of ASCII letters, all other bytes as they are. True when all bytes are ASCII.
bool lowercase_ascii(std::string_view text, char* out);

/// The length of the white space character at the beginning of valid UTF-8; 0 when there is none. White space
/// is what Python's str.split() takes for it.
std::size_t whitespace_length(std::string_view text);

}  // namespace sentencode
