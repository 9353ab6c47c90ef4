#include "sentencode/text/utf8.h"

#include <utf8proc.h>

#include <cstdint>
#include <cstring>

namespace sentencode {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

}  // namespace

CodePoint decode_utf8(std::string_view text) {
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
  std::uint64_t bits = 0;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    bits |= word;
  }
  for (; i < text.size(); ++i) bits |= byte_at(text, i);
  return (bits & 0x8080808080808080) == 0;
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.size() - i >= 8 && is_ascii(text.substr(i, 8))) {
      i += 8;
      continue;
    }
    const CodePoint point = decode_utf8(text.substr(i));
    if (!point.valid()) return i;
    i += point.length;
  }
  return std::string_view::npos;
}

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = find_invalid_utf8(text);
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
  constexpr std::size_t kBlock = 16;
  char* const begin = out;
  while (!text.empty()) {
    if (text.size() >= kBlock && lowercase_ascii(text.substr(0, kBlock), out)) {
      text.remove_prefix(kBlock);
      out += kBlock;
      continue;
    }
    const CodePoint point = decode_utf8(text);
    out +=
        encode_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point.code))), out);
    text.remove_prefix(point.length);
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
