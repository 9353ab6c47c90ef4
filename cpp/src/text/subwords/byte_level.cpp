#include "text/subwords/byte_level.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sentencode/text/utf8.h"
#include "text/subwords/patterns.h"

namespace sentencode {
namespace {

/// UTF-8 of one or two bytes.
struct Visible {
  std::array<char, 2> bytes{};
  std::uint8_t size = 0;
};

std::array<Visible, 256> visible_bytes() {
  std::array<Visible, 256> table;
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    const bool visible = (byte > ' ' && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    const char32_t code = visible ? static_cast<char32_t>(byte) : next++;
    table[byte].size = static_cast<std::uint8_t>(encode_utf8(code, table[byte].bytes.data()));
  }
  return table;
}

/// Writes a character for each byte, at most two bytes: itself if it is visible, otherwise one from U+0100
/// on. Returns the end.
char* write_visible(std::string_view bytes, char* out) {
  static const std::array<Visible, 256> table = visible_bytes();
  for (const char byte : bytes) {
    const Visible& visible = table[static_cast<unsigned char>(byte)];
    out[0] = visible.bytes[0];
    out[1] = visible.bytes[1];
    out += visible.size;
  }
  return out;
}

}  // namespace

SubwordPreTokenizer byte_level_pre_tokenizer(const JsonFields& fields) {
  return [prefixes = fields.flag("add_prefix_space"), splits = fields.flag("use_regex", true),
          gpt2 = SplitPattern::gpt2()](const SubwordPiece& piece, Tokens& memory,
                                       std::vector<SubwordPiece>& out) {
    const bool prefixed = prefixes && !piece.text.starts_with(' ');
    std::string_view text = piece.text;
    if (prefixed) {
      char* const copy = memory.scratch(text.size() + 1);
      copy[0] = ' ';
      std::ranges::copy(text, copy + 1);
      text = {copy, text.size() + 1};
    }
    const std::size_t bytes = 2 * text.size(), at_begin = piece.at_begin == 0 ? 0 : piece.at_begin + prefixed;
    char* const begin = memory.scratch(bytes);
    char* end = begin;
    const auto append = [&](std::string_view word, bool) {
      char* const first = end;
      const std::size_t marked = word.data() == text.data() ? at_begin : 0;
      const char* const end_of_marked = write_visible(word.substr(0, marked), first);
      end = write_visible(word, first);
      out.push_back(
          {{first, static_cast<std::size_t>(end - first)}, static_cast<std::size_t>(end_of_marked - first)});
    };
    if (splits) {
      gpt2.for_each_part(text, append);
    } else if (!text.empty()) {
      append(text, false);
    }
    memory.give_back(bytes - static_cast<std::size_t>(end - begin));
  };
}

}  // namespace sentencode
