#include "sentencode/text/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace sentencode {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

char32_t simple_lower(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

/// The simple lower case, from a table for nearly all text: code points below 2^16.
char32_t lower_of(char32_t code) {
  static const auto table = [] {
    std::array<char16_t, 1 << 16> all{};
    for (std::size_t c = 0; c < all.size(); ++c)
      all[c] = static_cast<char16_t>(simple_lower(static_cast<char32_t>(c)));
    return all;
  }();
  return code < table.size() ? table[code] : simple_lower(code);
}

/// Lower-cases all characters of valid UTF-8 that are not ASCII. False, after a part of them, if a lower case
/// has another length.
bool lowercase_in_place(char* text, std::size_t size) {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  const auto replace = [&](std::size_t i) {
    const CodePoint point = decode_utf8({text + i, size - i});
    const char32_t small = lower_of(point.code);
    std::array<char, 4> bytes;
    if (small == point.code) return true;
    if (encode_utf8(small, bytes.data()) != point.length) return false;
    std::copy_n(bytes.begin(), point.length, text + i);
    return true;
  };
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text + i, sizeof word);
    for (std::uint64_t first = word & word << 1 & kHigh; first != 0; first &= first - 1) {  // from 0xC0 on
      if (!replace(i + static_cast<std::size_t>(std::countr_zero(first)) / 8)) return false;
    }
  }
  for (; i < size; ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0xC0 && !replace(i)) return false;
  }
  return true;
}

/// Whether a byte of UTF-8 is wrong after the three bytes before it.
unsigned char is_wrong(unsigned char third, unsigned char second, unsigned char last, unsigned char byte) {
  const bool must_continue = (last >= 0xC0) | (second >= 0xE0) | (third >= 0xF0);
  const bool does_continue = (byte & 0xC0) == 0x80;
  const bool overlong = ((last == 0xE0) & (byte < 0xA0)) | ((last == 0xF0) & (byte < 0x90));
  const bool surrogate = (last == 0xED) & (byte > 0x9F);
  const bool too_high = (last == 0xF4) & (byte > 0x8F);
  const bool never = (byte == 0xC0) | (byte == 0xC1) | (byte > 0xF4);
  return (must_continue != does_continue) | overlong | surrogate | too_high | never;
}

bool is_valid_utf8(std::string_view text) {
  constexpr std::size_t kBefore = 3;
  // Before and after the text are zeros. The long loop does not check for them, so that compilers use
  // vectors.
  const auto wrong_at = [&](std::size_t i) {
    const auto at = [&](std::size_t k) -> unsigned char {
      return k >= kBefore && k - kBefore < text.size() ? byte_at(text, k - kBefore) : 0;
    };
    return is_wrong(at(i), at(i + 1), at(i + 2), at(i + 3));
  };
  unsigned char wrong = wrong_at(text.size());
  for (std::size_t i = 0; i < std::min(kBefore, text.size()); ++i) wrong |= wrong_at(i);
  for (std::size_t i = kBefore; i < text.size(); ++i)
    wrong |= is_wrong(byte_at(text, i - 3), byte_at(text, i - 2), byte_at(text, i - 1), byte_at(text, i));
  return wrong == 0;
}

std::size_t first_invalid(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text.substr(i));
    if (!point.valid()) return i;
    i += point.length;
  }
  return std::string_view::npos;
}

}  // namespace

CodePoint decode_any_utf8(std::string_view text) {
  const unsigned char lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {CodePoint::kInvalid, 1};
  // The range of the second byte depends on the first, which excludes overlong forms, surrogates and code
  // points above U+10FFFF.
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte_at(text, i) < low || byte_at(text, i) > high)
      return {CodePoint::kInvalid, i};
    code = code << 6 | (byte_at(text, i) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {code, length};
}

std::size_t encode_utf8(char32_t code, char* out) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xC0 | code >> 6);
    out[1] = tail(0);
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xE0 | code >> 12);
    out[1] = tail(6);
    out[2] = tail(0);
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | code >> 18);
  out[1] = tail(12);
  out[2] = tail(6);
  out[3] = tail(0);
  return 4;
}

bool is_ascii(std::string_view text) {
  unsigned char bits = 0;
  for (const unsigned char c : text) bits |= c;
  return bits < 0x80;
}

std::size_t find_invalid_utf8(std::string_view text) {
  return is_valid_utf8(text) ? std::string_view::npos : first_invalid(text);
}

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = first_invalid(text);
    repaired.append(text.substr(0, good));
    if (good == std::string_view::npos) break;
    repaired.append("\xEF\xBF\xBD");  // U+FFFD
    text.remove_prefix(good);
    text.remove_prefix(decode_utf8(text).length);
  }
  return repaired;
}

bool lowercase_ascii(std::string_view text, char* out) {
  unsigned char bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = byte_at(text, i);
    bits |= c;
    out[i] = static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < 26 ? 'a' - 'A' : 0));
  }
  return bits < 0x80;
}

std::size_t lowercase_utf8(std::string_view text, char* out) {
  constexpr std::size_t kChunk = 256;
  char* const begin = out;
  while (!text.empty()) {
    std::size_t size = std::min(kChunk, text.size());
    while (size < text.size() && continues(text[size])) --size;
    const std::string_view chunk = text.substr(0, size);
    text.remove_prefix(size);
    if (lowercase_ascii(chunk, out) || lowercase_in_place(out, size)) {
      out += size;
      continue;
    }
    for (std::size_t i = 0; i < size;) {
      const CodePoint point = decode_utf8(chunk.substr(i));
      out += encode_utf8(lower_of(point.code), out);
      i += point.length;
    }
  }
  return static_cast<std::size_t>(out - begin);
}

std::size_t whitespace_length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned char lead = byte_at(text, 0);
  if (lead < 0x80) {
    return lead == ' ' || (lead >= '\t' && lead <= '\r') || (lead >= 0x1C && lead <= 0x1F) ? 1 : 0;
  }
  if (lead != 0xC2 && (lead < 0xE1 || lead > 0xE3)) return 0;  // the first bytes of those below
  const CodePoint point = decode_utf8(text);
  switch (point.code) {
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
      return point.length;
    default:
      return point.code >= 0x2000 && point.code <= 0x200A ? point.length : 0;
  }
}

}  // namespace sentencode
