#include "text/subwords/precompiled.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/text/utf8.h"
#include "text/subwords/graphemes.h"

namespace sentencode {
namespace {

/// Bytes of base64 as RFC 4648 defines it, with padding; nothing if the text is invalid.
std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr auto kValues = [&] {
    std::array<std::int8_t, 256> values;
    values.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i)
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
    return values;
  }();
  if (text.size() % 4 != 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const std::int8_t value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return {};
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
    bits &= (1U << count) - 1;
  }
  return bits == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

/// The map: the size of a trie in bytes, a double-array trie as in darts-clone, and all replacements, each of
/// which ends with a NUL. Values of the trie are offsets of replacements.
class CharacterMap {
 public:
  explicit CharacterMap(const JsonFields& fields) {
    constexpr std::string_view kField = "precompiled_charsmap";
    const std::optional<std::string> bytes = decode_base64(fields.text(kField));
    const auto check = [&](bool good, const auto&... parts) {
      ST_CHECK(good, FormatError, "tokenizer.json: ", fields.name_of(kField), " is damaged: ", parts...);
    };
    check(bytes.has_value(), "it is not base64");
    const auto word = [&](std::size_t i) {
      std::uint32_t value = 0;
      for (std::size_t k = 4; k-- > 0;) value = value << 8 | static_cast<unsigned char>((*bytes)[4 * i + k]);
      return value;
    };
    check(bytes->size() >= 4, "it has ", bytes->size(), " bytes");
    const std::size_t size = word(0) / 4;
    check(size > 0 && size <= bytes->size() / 4 - 1, "a trie of ", word(0), " bytes in ", bytes->size());
    units_.reserve(size);
    for (std::size_t i = 1; i <= size; ++i) units_.push_back(word(i));
    replacements_ = bytes->substr(4 * (size + 1));
    check(find_invalid_utf8(replacements_) == std::string::npos, "replacements are not UTF-8");
    check((units_[0] & kIsValue) == 0, "unit 0 of the trie has no children");
    for (std::uint32_t i = 0; i < size; ++i) {
      if (const std::uint32_t unit = units_[i]; (unit & kIsValue) != 0) {
        const std::uint32_t at = value_of(unit);
        check(
            at <= replacements_.size() && (at == replacements_.size() || (replacements_[at] & 0xC0) != 0x80),
            "unit ", i, " of the trie refers to byte ", at, " of ", replacements_.size());
        check(replacement_at(at).size() <= kLongest, "the replacement at byte ", at, " is longer than ",
              kLongest, " bytes");
      } else {
        check(((i ^ offset_of(unit)) | 0xFF) < size, "unit ", i, " of the trie refers to unit ",
              i ^ offset_of(unit), " of ", size);
      }
    }
    for (std::size_t c = 0; c < ascii_changes_.size(); ++c) {
      const char byte = static_cast<char>(c);
      ascii_changes_[c] = find({&byte, 1}).has_value();
    }
  }

  /// The largest ratio of a replacement's length and its key's.
  double growth() const {
    double most = 1;
    std::vector<bool> seen(units_.size());
    std::vector<std::uint32_t> bases{offset_of(units_[0])}, next;
    // Shorter keys first: keys may share nodes.
    for (double bytes = 1; !bases.empty(); ++bytes, bases.swap(next), next.clear()) {
      for (const std::uint32_t base : bases) {
        for (std::uint32_t byte = 1; byte < 256; ++byte) {
          const std::uint32_t unit = units_[base ^ byte];
          if ((unit & (kIsValue | 0xFF)) != byte || seen[base ^ byte]) continue;
          seen[base ^ byte] = true;
          next.push_back(base ^ byte ^ offset_of(unit));
          if (const auto replacement = replacement_in(unit, next.back()))
            most = std::max(most, static_cast<double>(replacement->size()) / bytes);
        }
      }
    }
    return most;
  }

  void operator()(std::string_view text, std::string& out) const {
    std::size_t done = 0;
    const auto replace = [&](std::size_t begin, std::size_t end, std::string_view replacement) {
      out.append(text.substr(done, begin - done)).append(replacement);
      done = end;
    };
    for (std::size_t begin = 0; begin < text.size();) {
      const auto ascii = [&](std::size_t i) { return static_cast<unsigned char>(text[i]) < 0x80; };
      // Between ASCII characters, one is a grapheme, unless it is CR LF.
      if (ascii(begin) && (begin + 1 == text.size() || (ascii(begin + 1) && text[begin] != '\r'))) {
        if (ascii_changes_[static_cast<std::size_t>(text[begin])])
          replace(begin, begin + 1, *find(text.substr(begin, 1)));
        ++begin;
        continue;
      }
      const std::string_view grapheme = text.substr(begin, grapheme_length(text.substr(begin)));
      const std::size_t end = begin + grapheme.size();
      // As the package `tokenizers` does: a match of the first characters of a short grapheme replaces all of
      // it.
      const bool short_one = grapheme.size() < kShort,
                 single = decode_utf8(grapheme).length == grapheme.size();
      const auto whole = short_one ? find(grapheme) : std::nullopt;
      if (whole) replace(begin, end, *whole);
      if (whole || single) begin = end;
      while (begin < end) {
        const std::size_t next = begin + decode_utf8(text.substr(begin)).length;
        if (const auto one = find(text.substr(begin, next - begin))) replace(begin, next, *one);
        begin = next;
      }
    }
    out.append(text.substr(done));
  }

 private:
  static constexpr std::uint32_t kIsValue = 1U << 31;
  static constexpr std::size_t kShort = 6, kLongest = 1024;

  static std::uint32_t value_of(std::uint32_t unit) { return unit & ~kIsValue; }
  static std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 1U << 9) >> 6); }

  std::string_view replacement_at(std::size_t at) const {
    const std::string_view rest = std::string_view(replacements_).substr(at);
    return rest.substr(0, rest.find('\0'));
  }

  /// The replacement of the key that ends at a unit with this base.
  std::optional<std::string_view> replacement_in(std::uint32_t unit, std::uint32_t base) const {
    if ((unit >> 8 & 1) == 0 || (units_[base] & kIsValue) == 0) return {};
    return replacement_at(value_of(units_[base]));
  }

  /// The replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> find(std::string_view text) const {
    std::uint32_t node = offset_of(units_[0]);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) break;
      node ^= byte;
      const std::uint32_t unit = units_[node];
      if ((unit & (kIsValue | 0xFF)) != byte) break;
      node ^= offset_of(unit);
      if (const auto replacement = replacement_in(unit, node)) return replacement;
    }
    return {};
  }

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> ascii_changes_{};
};

}  // namespace

std::pair<SubwordNormalizer, double> precompiled_normalizer(const JsonFields& fields) {
  const auto map = std::make_shared<const CharacterMap>(fields);
  return {[map](std::string_view text, std::string& out) { (*map)(text, out); }, map->growth()};
}

}  // namespace sentencode
