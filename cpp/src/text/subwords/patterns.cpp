#include "text/subwords/patterns.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"
#include "text/subwords/categories.h"

namespace sentencode {
namespace patterns {
namespace {

using std::size_t;
using std::string_view;

struct Character {
  Category category = Category::space;
  char32_t code = 0;
  size_t end = 0;  // position of the next one
};

/// The character at text[at].
Character look(string_view text, size_t at) {
  static const std::array<Category, 128> ascii = [] {
    std::array<Category, 128> categories;
    for (size_t code = 0; code < 128; ++code) categories[code] = category_of(static_cast<char32_t>(code));
    return categories;
  }();
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 128) return {ascii[lead], lead, at + 1};
  const CodePoint point = decode_utf8(text.substr(at));
  return {category_of(point.code), point.code, at + point.length};
}

bool is_newline(char32_t code) { return code == '\r' || code == '\n'; }
bool is_letter(const Character& c) { return c.category == Category::letter; }
bool is_number(const Character& c) { return c.category == Category::number; }
bool is_space(const Character& c) { return c.category == Category::space; }
bool is_line_end(const Character& c) { return is_newline(c.code); }
bool is_other(const Character& c) { return !is_letter(c) && !is_number(c) && !is_space(c); }
bool is_letter_or_mark(const Character& c) { return is_letter(c) || c.category == Category::mark; }
bool is_sign(const Character& c) {
  return c.category == Category::punctuation || c.category == Category::symbol;
}
bool is_ascii_letter(const Character& c) { return c.code < 128 && is_letter(c); }

/// The end of the longest run of at most `most` characters that fit.
template <typename Fits>
size_t run(string_view text, size_t begin, const Fits& fits, size_t most = string_view::npos) {
  for (; begin < text.size() && most > 0; --most) {
    const Character c = look(text, begin);
    if (!fits(c)) break;
    begin = c.end;
  }
  return begin;
}

/// 's|'t|'re|'ve|'m|'ll|'d; with `fold` in any case, where the long s is an s.
size_t contraction(string_view text, size_t begin, bool fold) {
  if (text[begin] != '\'') return begin;
  const string_view rest = text.substr(begin + 1);
  for (const string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    const auto same = [&](char a, char b) { return a == b || (fold && a == b - 'a' + 'A'); };
    if (rest.size() >= ending.size() &&
        std::equal(ending.begin(), ending.end(), rest.begin(), [&](char b, char a) { return same(a, b); }))
      return begin + 1 + ending.size();
    if (fold && ending == "s" && rest.starts_with("\u017F")) return begin + 3;
  }
  return begin;
}

/// \s*[\r\n]+ if `lines`, |\s+(?!\S)|\s+
size_t spaces(string_view text, size_t begin, bool lines) {
  size_t end = begin, last = begin, line = begin;
  while (end < text.size()) {
    const Character c = look(text, end);
    if (!is_space(c)) break;
    last = end;
    end = c.end;
    if (is_newline(c.code)) line = end;
  }
  if (lines && line > begin) return line;
  return end < text.size() && last > begin ? last : end;  // the last space belongs to the next word
}

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2(string_view text, size_t begin) {
  if (const size_t end = contraction(text, begin, false); end > begin) return end;
  const size_t word = begin + (text[begin] == ' ' ? 1 : 0);
  if (word < text.size()) {
    const Character c = look(text, word);
    if (is_letter(c)) return run(text, c.end, is_letter);
    if (is_number(c)) return run(text, c.end, is_number);
    if (is_other(c)) return run(text, c.end, is_other);
  }
  return spaces(text, begin, false);
}

/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,kDigits}| ?[^\s\p{L}\p{N}]+[\r\n]*|
/// \s*[\r\n]+|\s+(?!\S)|\s+
template <size_t kDigits>
size_t cl100k(string_view text, size_t begin) {
  if (const size_t end = contraction(text, begin, true); end > begin) return end;
  const Character c = look(text, begin);
  if (is_letter(c)) return run(text, c.end, is_letter);
  if (is_number(c)) return run(text, begin, is_number, kDigits);
  if (!is_newline(c.code)) {
    if (const size_t end = run(text, c.end, is_letter); end > c.end) return end;
  }
  const size_t sign = begin + (c.code == ' ' ? 1 : 0);
  if (const size_t end = run(text, sign, is_other); end > sign) return run(text, end, is_line_end);
  return spaces(text, begin, true);
}

/// The last one of DeepSeek V3.
size_t deepseek(string_view text, size_t begin) {
  const Character c = look(text, begin);
  if (c.code < 128 && is_sign(c)) {
    if (const size_t end = run(text, c.end, is_ascii_letter); end > c.end) return end;
  }
  if (!is_newline(c.code) && !is_sign(c)) {
    const size_t end = run(text, c.end, is_letter_or_mark);
    if (end > c.end || is_letter_or_mark(c)) return end;
  }
  const size_t sign = begin + (c.code == ' ' ? 1 : 0);
  if (const size_t end = run(text, sign, is_sign); end > sign) return run(text, end, is_line_end);
  return spaces(text, begin, true);
}

/// '...|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
size_t clip(string_view text, size_t begin) {
  if (const size_t end = contraction(text, begin, false); end > begin) return end;
  const Character c = look(text, begin);
  if (is_letter(c)) return run(text, c.end, is_letter);
  return is_number(c) ? c.end : run(text, begin, is_other);
}

size_t chinese_and_japanese(string_view text, size_t begin) {
  return run(text, begin, [](const Character& c) {
    return (c.code >= 0x4E00 && c.code <= 0x9FA5) || (c.code >= 0x3040 && c.code <= 0x30FF);
  });
}

constexpr size_t kAll = string_view::npos;
template <size_t kMost>
size_t numbers(string_view text, size_t begin) {
  return run(text, begin, is_number, kMost);
}
template <size_t kMost>
size_t white_space(string_view text, size_t begin) {
  return run(text, begin, is_space, kMost);
}

constexpr std::pair<string_view, size_t (*)(string_view, size_t)> kExpressions[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     cl100k<3>},  // Llama 3, cl100k
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     cl100k<1>},  // Qwen 2 and 3
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
     R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     deepseek},
    {"[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+", chinese_and_japanese},
    {R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)", clip},
    {R"(\p{N}{1,3})", numbers<3>},
    {R"(\p{N}+)", numbers<kAll>},
    {R"(\p{N})", numbers<1>},
    {R"(\s+)", white_space<kAll>},
    {R"(\s)", white_space<1>},
};

}  // namespace
}  // namespace patterns

SplitPattern::SplitPattern(std::string literal) : literal_(std::move(literal)) {}

std::optional<SplitPattern> SplitPattern::regex(std::string_view expression) {
  // Some files have the characters themselves instead of their escapes.
  std::string escaped;
  for (const char c : expression) {
    if (patterns::is_newline(static_cast<unsigned char>(c))) {
      escaped += c == '\r' ? "\\r" : "\\n";
    } else {
      escaped += c;
    }
  }
  const auto* const known = std::ranges::find(patterns::kExpressions, std::string_view(escaped),
                                              [](const auto& entry) { return entry.first; });
  if (known == std::end(patterns::kExpressions)) return {};
  SplitPattern pattern("");
  pattern.end_ = known->second;
  return pattern;
}

SplitPattern SplitPattern::gpt2() { return *regex(patterns::kExpressions[0].first); }

SplitPattern::Match SplitPattern::find(std::string_view text, std::size_t from) const {
  if (end_ == nullptr) {
    const std::size_t begin = std::min(text.size(), text.find(literal_, from));
    return {begin, std::min(text.size(), begin + literal_.size())};
  }
  while (from < text.size()) {
    if (const std::size_t end = end_(text, from); end > from) return {from, end};
    from = patterns::look(text, from).end;
  }
  return {from, from};
}

SubwordPreTokenizer split_pre_tokenizer(const JsonFields& fields, DelimiterBehavior behavior) {
  const JsonFields pattern(fields.at("pattern"), fields.name_of("pattern"));
  std::optional<SplitPattern> known;
  if (pattern.has("String")) {
    ST_CHECK(!pattern.text("String").empty(), Unsupported, "tokenizer.json: ", pattern.name_of("String"),
             " is empty");
    known = SplitPattern(pattern.text("String"));
  } else {
    known = SplitPattern::regex(pattern.text("Regex"));
    ST_CHECK(known, Unsupported, "tokenizer.json: ", pattern.name_of("Regex"), " '", pattern.text("Regex"),
             "' is none of the regular expressions of published models");
  }
  return [split = *known, invert = fields.flag("invert"), behavior](const SubwordPiece& piece, Tokens&,
                                                                    std::vector<SubwordPiece>& out) {
    const auto begin_of = [&](std::string_view part) {
      return static_cast<std::size_t>(part.data() - piece.text.data());
    };
    if (behavior == DelimiterBehavior::isolated) {
      split.for_each_part(piece.text, [&](std::string_view part, bool) {
        out.push_back(piece.part(begin_of(part), begin_of(part) + part.size()));
      });
      return;
    }
    thread_local std::vector<Stretch> stretches;
    stretches.clear();
    split.for_each_part(piece.text, [&](std::string_view part, bool is_match) {
      stretches.push_back({begin_of(part), begin_of(part) + part.size(), is_match != invert});
    });
    append_parts(piece, stretches, behavior, out);
  };
}

}  // namespace sentencode
