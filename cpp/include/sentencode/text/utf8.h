#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sentencode {

/// What may begin a file in UTF-8.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// A code point, or an invalid sequence.
struct CodePoint {
  char32_t code = 0;       // kInvalid for an invalid sequence
  std::size_t length = 0;  // bytes; of an invalid sequence: its longest valid prefix, or one byte

  static constexpr char32_t kInvalid = 0xFFFFFFFF;
  bool valid() const { return code != kInvalid; }
};

/// The first code point of `text`, which must not be empty.
CodePoint decode_any_utf8(std::string_view text);

/// The same; characters of two bytes take no call.
inline CodePoint decode_utf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const unsigned second = text.size() > 1 ? static_cast<unsigned char>(text[1]) ^ 0x80U : 0xFFU;
  const bool two = lead >= 0xC2 && lead < 0xE0 && second < 0x40;  // Latin, Greek, Cyrillic, Hebrew, Arabic
  return two ? CodePoint{(lead & 0x1FU) << 6 | second, 2} : decode_any_utf8(text);
}

/// Writes at most four bytes and returns their number.
std::size_t encode_utf8(char32_t code, char* out);

bool is_ascii(std::string_view text);

/// Position of the first invalid sequence; npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);

/// Replaces each invalid sequence by U+FFFD, as Unicode recommends and Python's errors="replace" does.
std::string repair_utf8(std::string_view text);

/// Writes the simple lower case (one code point for one) of valid UTF-8 to `out`, which has room for
/// lowercase_bound(text.size()) bytes. Returns the number of bytes written.
std::size_t lowercase_utf8(std::string_view text, char* out);
constexpr std::size_t lowercase_bound(std::size_t bytes) {
  return bytes + bytes / 2;
}  // two bytes become three at most

/// Lower-cases ASCII letters and copies all other bytes. True if all bytes are ASCII.
bool lowercase_ascii(std::string_view text, char* out);

/// Bytes of the white space character at the beginning of valid UTF-8; 0 if there is none. White space is
/// defined as for Python's str.split().
std::size_t whitespace_length(std::string_view text);

}  // namespace sentencode
