#include "words.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "byte_masks.h"
#include "english.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

using std::size_t;
using std::string_view;

enum class Kind : std::uint8_t { space, letter, digit, other, high };  // high: not ASCII, needs utf8proc

constexpr std::array<Kind, 256> kKinds = [] {
  std::array<Kind, 256> kinds{};
  for (size_t c = 0; c < 256; ++c) {
    kinds[c] = c <= ' ' || c == 0x7F ? Kind::space : c >= 0x80 ? Kind::high : Kind::other;
    if (c >= '0' && c <= '9') kinds[c] = Kind::digit;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') kinds[c] = Kind::letter;
  }
  return kinds;
}();

constexpr size_t kLongestHost = 253;

// Clitics, which the Penn Treebank splits off, and elisions, which are words that begin with an apostrophe.
constexpr string_view kClitics[] = {"n't", "'s", "'m", "'d", "'ll", "'re", "'ve"};
constexpr string_view kElisions[] = {"'bout", "'cause", "'d", "'em", "'ll",  "'m",    "'n'", "'n",
                                     "'re",   "'round", "'s", "'t",  "'til", "'till", "'ve"};
struct Contraction {
  string_view word;
  size_t first_length;  // where it is split
};
constexpr Contraction kContractions[] = {{"cannot", 3}, {"gimme", 3}, {"gonna", 3},
                                         {"gotta", 3},  {"lemme", 3}, {"wanna", 3}};
constexpr Contraction kApostrophes[] = {{"d'ye", 2}, {"more'n", 4}, {"y'all", 2}, {"'tis", 2}, {"'twas", 2}};

bool is_plain_letter(char c) { return kKinds[static_cast<unsigned char>(c)] == Kind::letter; }
bool is_plain_word(char c) {
  return is_plain_letter(c) || kKinds[static_cast<unsigned char>(c)] == Kind::digit;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; }

bool same(string_view text, string_view expected) {  // expected is in lower case
  return std::ranges::equal(text, expected, {}, lower);
}

/// Whether a word has the length, and the second and third letter, of one of kContractions.
bool may_be_contraction(string_view word) {
  if (word.size() != 5 && word.size() != 6) return false;
  const char second = lower(word[1]), third = lower(word[2]);
  return (third == 'n' && (second == 'a' || second == 'o')) ||
         (third == 'm' && (second == 'i' || second == 'e')) || (third == 't' && second == 'o');
}

bool is_regional_indicator(char32_t code) { return code >= 0x1F1E6 && code <= 0x1F1FF; }
bool is_skin_tone(char32_t code) { return code >= 0x1F3FB && code <= 0x1F3FF; }
bool is_tag(char32_t code) { return code >= 0xE0020 && code <= 0xE007F; }
constexpr char32_t kJoiner = 0x200D;

bool is_mark(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

Kind kind_in_utf8proc(char32_t code) {
  if (code == kJoiner || code == 0x200C || code == 0xFFFD) return Kind::letter;  // U+FFFD was a letter
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CN:  // emoji newer than the tables
      return code >= 0x1F000 ? Kind::other : Kind::letter;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return Kind::other;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
      return Kind::space;
    default:
      return Kind::letter;
  }
}

/// Never `high`.
Kind kind_of(char32_t code) {
  static const auto kinds = [] {  // of nearly all text: code points below 2^16
    std::array<Kind, 1 << 16> all{};
    for (size_t c = 0; c < all.size(); ++c)
      all[c] = c < 0x80 ? kKinds[c] : kind_in_utf8proc(static_cast<char32_t>(c));
    return all;
  }();
  return code < kinds.size() ? kinds[code] : kind_in_utf8proc(code);
}

/// Whether a text has "@", "://" or "ww.": without, it has no address.
bool may_have_addresses(string_view text) {
  if (text.find('@') != text.npos) return true;
  for (size_t i = text.find(':'); i != text.npos; i = text.find(':', i + 1)) {
    if (text.substr(i, 3) == "://") return true;
  }
  for (size_t i = text.find('.'); i != text.npos; i = text.find('.', i + 1)) {
    if (i >= 2 && lower(text[i - 1]) == 'w' && lower(text[i - 2]) == 'w') return true;
  }
  return false;
}

/// Splits a text from left to right.
class WordSplitter {
 public:
  WordSplitter(string_view text, Tokens& out)
      : text_(text), masks_(text), out_(out), has_addresses_(may_have_addresses(text)) {}

  void split() {
    while ((at_ = masks_.space_end(at_)) < text_.size()) {
      switch (kind(at_)) {
        case Kind::space:  // not ASCII
          at_ += length(at_);
          break;
        case Kind::letter:
        case Kind::digit:
          word();
          break;
        default:
          symbol();
      }
    }
  }

 private:
  unsigned char byte(size_t i) const {
    return i < text_.size() ? static_cast<unsigned char>(text_[i]) : '\0';
  }
  size_t length(size_t i) const { return byte(i) < 0x80 ? 1 : decode_utf8(text_.substr(i)).length; }
  char32_t code(size_t i) const { return i < text_.size() ? decode_utf8(text_.substr(i)).code : 0; }

  /// Never `high`. Space beyond the end of the text.
  Kind kind(size_t i) const {
    const Kind kind = kKinds[byte(i)];
    return kind == Kind::high ? kind_of(code(i)) : kind;
  }
  bool is_word(size_t i) const {
    const Kind k = kind(i);
    return k == Kind::letter || k == Kind::digit;
  }
  /// The first position from i on that is ASCII or no letter or digit.
  size_t high_word_end(size_t i) const {
    while (byte(i) >= 0x80) {
      const CodePoint point = decode_utf8(text_.substr(i));
      const Kind kind = kind_of(point.code);
      if (kind != Kind::letter && kind != Kind::digit) break;
      i += point.length;
    }
    return i;
  }
  bool is_letter(size_t i) const { return kind(i) == Kind::letter; }
  bool is_digit(size_t i) const { return kKinds[byte(i)] == Kind::digit; }

  void push(size_t end) {
    out_.push(text_.substr(at_, end - at_));
    at_ = end;
  }
  /// Emits a token that differs from the text.
  void push_as(string_view token, size_t end) {
    out_.push(token);
    at_ = end;
  }

  void word() {
    if (has_addresses_) {
      if (const size_t end = web_address_end(); end != 0) return push(end);
      if (const size_t end = mail_address_end(); end != 0) return push(end);
    }
    size_t part = at_;  // begin of the part after the last period
    bool dotted = false, apostrophe = false;
    size_t i = at_;
    while (true) {
      i = masks_.word_end(i);
      const unsigned char c = byte(i);
      if (c <= ' ') break;
      if (c >= 0x80) {
        const size_t end = high_word_end(i);
        if (end == i) break;
        i = end;
      } else if (c == '\'' && i > at_ && is_letter(i + 1)) {
        apostrophe = true;
        ++i;
      } else if (c == '-' && i > at_ && is_word(i + 1)) {
        ++i;
      } else if ((c == ',' || c == ':' || c == '/') && i > at_ && is_digit(i - 1) && is_digit(i + 1)) {
        ++i;
      } else if (c == '.' && joins(part, i)) {
        dotted = true;
        part = ++i;
      } else if (c == '.' && belongs(i, dotted && i - part == length(part) && is_letter(part))) {
        ++i;
        break;
      } else {
        break;
      }
    }
    finish(i, apostrophe);
  }

  /// Whether the period at i is inside a word, whose last part begins at `part`: 1.5, u.s., ph.d., yahoo.com.
  bool joins(size_t part, size_t i) const {
    if (!is_word(i + 1)) return false;
    if (i == at_ || is_digit(i - 1)) {
      if (is_digit(i + 1)) return true;
      if (i == at_) return false;
    }
    const bool one_letter_follows = is_letter(i + 1) && !is_word(i + 1 + length(i + 1));
    if (i - part <= 2 && is_letter(part) && one_letter_follows) return true;
    size_t end = i + 1;
    size_t last = end;
    const auto inside = [&](size_t k) {
      return is_word(k) || ((byte(k) == '.' || byte(k) == '-') && is_word(k + 1));
    };
    for (; inside(end) && end - at_ <= kLongestHost; end += length(end)) {
      if (byte(end) == '.') last = end + 1;
    }
    return is_domain(text_.substr(last, end - last));
  }

  /// Whether the period at i, which joins nothing, belongs to the word.
  bool belongs(size_t i, bool acronym) const {
    if (byte(i + 1) == '.') return false;  // an ellipsis
    if (acronym) return true;
    const string_view word = text_.substr(at_, i - at_);
    const bool initial = word.size() == length(at_) && is_letter(at_) && !same(word, "i");
    if (same(word, "no")) return next_word_is_number(i + 1);
    return word_follows(i + 1) && (initial || abbreviation(word) != Abbreviation::none);
  }

  bool word_follows(size_t i) const {
    while (i < text_.size() && !is_word(i)) i += length(i);
    return i < text_.size();
  }
  bool next_word_is_number(size_t i) const {
    while (i < text_.size() && kind(i) == Kind::space) i += length(i);
    return is_digit(i);
  }

  /// Emits the word that ends at `end`, split at contractions and clitics.
  void finish(size_t end, bool apostrophe) {
    const string_view word = text_.substr(at_, end - at_);
    if (!apostrophe) {
      if (may_be_contraction(word)) contract(word, kContractions);
      return push(end);
    }
    contract(word, kApostrophes);
    std::array<size_t, 4> ends{};  // of all parts but the last, from right to left
    size_t count = 0;
    size_t rest = end;
    while (count < ends.size()) {
      const size_t length = clitic(text_.substr(at_, rest - at_));
      if (length == 0) break;
      rest = ends[count++] = at_ + length;
    }
    while (count > 0) push(ends[--count]);
    push(end);
  }

  /// Emits the first part of a contraction.
  template <size_t n>
  void contract(string_view word, const Contraction (&contractions)[n]) {
    for (const auto& [contraction, first_length] : contractions) {
      if (same(word, contraction)) return push(at_ + first_length);
    }
  }

  /// Position of the word's last clitic; 0 if it has none, or is one.
  static size_t clitic(string_view word) {
    for (const string_view clitic : kClitics) {
      if (word.size() > clitic.size() && same(word.substr(word.size() - clitic.size()), clitic)) {
        return word.size() - clitic.size();
      }
    }
    return 0;
  }

  void symbol() {
    const unsigned char c = byte(at_);
    if (c >= 0x80) return push(pictogram_end());
    const bool twice = byte(at_ + 1) == c;
    if (twice && c == '.') return push_as("...", run_end());
    if (twice && c == '-') return push_as("--", run_end());
    if (twice && (c == '`' || c == '\'')) return push_as("\"", at_ + 2);
    if (c == '.' && is_digit(at_ + 1)) return word();
    if (c == '\'') {
      if (const size_t end = elision_end(); end != 0) return elide(end);
    }
    push(at_ + 1);
  }

  size_t run_end() const { return std::min(text_.find_first_not_of(text_[at_], at_), text_.size()); }

  /// End of the word that begins with the apostrophe here: 'em, 's, '90s; 0 if it is a quote.
  size_t elision_end() const {
    size_t end = at_ + 1;
    if (is_digit(end) && is_digit(end + 1)) {
      if (at_ > 0 && is_plain_word(text_[at_ - 1])) return 0;  // five feet, ten inches
      end += 2;
      if (lower(static_cast<char>(byte(end))) == 's') ++end;
      return is_word(end) || byte(end) == '\'' ? 0 : end;
    }
    while (is_letter(end)) end += length(end);
    if (same(text_.substr(at_, end + 1 - at_), "'n'")) return end + 1;
    const string_view word = text_.substr(at_, end - at_);
    const auto is_word = [&](string_view elision) { return same(word, elision); };
    const bool elided = std::ranges::any_of(kElisions, is_word) || same(word, "'tis") || same(word, "'twas");
    return elided && byte(end) != '\'' ? end : 0;
  }
  void elide(size_t end) {
    contract(text_.substr(at_, end - at_), kApostrophes);
    push(end);
  }

  /// End of a symbol that is not ASCII, with its modifiers: an emoji with a skin tone, a family, a flag.
  size_t pictogram_end() const {
    size_t end = at_ + length(at_);
    if (is_regional_indicator(code(at_)) && is_regional_indicator(code(end))) return end + length(end);
    while (end < text_.size() && byte(end) >= 0x80) {
      const char32_t next = code(end);
      const size_t after = end + length(end);
      if (is_mark(next) || is_skin_tone(next) || is_tag(next)) {
        end = after;
      } else if (next == kJoiner && byte(after) >= 0x80 && kind(after) == Kind::other) {
        end = after + length(after);
      } else {
        break;
      }
    }
    return end;
  }

  /// End of the web address that begins here; 0 if none does.
  size_t web_address_end() const {
    constexpr size_t kLongestScheme = 16;
    const string_view rest = text_.substr(at_);
    const size_t scheme = rest.substr(0, kLongestScheme).find("://");
    size_t end = 0;  // of the prefix
    if (scheme != rest.npos && std::ranges::all_of(rest.substr(0, scheme), is_plain_letter)) {
      end = at_ + scheme + 3;
    } else if (same(rest.substr(0, 4), "www.")) {
      end = at_ + 4;
    }
    if (end == 0 || !is_plain_word(static_cast<char>(byte(end)))) return 0;
    while (byte(end) > ' ' && byte(end) < 0x7F && byte(end) != '<' && byte(end) != '>' && byte(end) != '"')
      ++end;
    while (string_view(".,;:!?'()[]{}").find(text_[end - 1]) != string_view::npos) --end;
    return end;
  }

  /// End of the e-mail address that begins here; 0 if none does.
  size_t mail_address_end() const {
    constexpr size_t kLongestName = 64;
    const auto name = [](char c) { return is_plain_word(c) || c == '.' || c == '-' || c == '+'; };
    const auto host = [](char c) { return is_plain_word(c) || c == '.' || c == '-'; };
    const auto span = [&](size_t begin, size_t limit, const auto& allowed) {
      const string_view part = text_.substr(begin, limit);
      return begin + static_cast<size_t>(std::ranges::find_if_not(part, allowed) - part.begin());
    };
    const size_t sign = span(at_, kLongestName, name);
    if (byte(sign) != '@') return 0;
    size_t end = span(sign + 1, kLongestHost, host);
    while (byte(end - 1) == '.' || byte(end - 1) == '-') --end;
    const size_t period = text_.substr(0, end).find('.', sign + 1);
    return period != text_.npos && period > sign + 1 ? end : 0;
  }

  const string_view text_;
  ByteMasks masks_;
  Tokens& out_;
  const bool has_addresses_;
  size_t at_ = 0;
};

constexpr string_view kMayFold = "\xC2\xCA\xE2\xEF";  // first bytes of what fold_typography replaces
bool may_fold(char c) { return std::ranges::find(kMayFold, c) != kMayFold.end(); }

}  // namespace

bool has_typography(string_view text) {
  return std::ranges::any_of(kMayFold, [&](char c) { return text.find(c) != text.npos; });
}

size_t fold_typography(string_view text, char* out) {
  char* const begin = out;
  const auto write = [&](string_view piece) { out = std::ranges::copy(piece, out).out; };
  const auto is_word = [](char c) { return is_plain_word(c) || static_cast<unsigned char>(c) >= 0x80; };
  while (true) {
    const auto kept = static_cast<size_t>(std::ranges::find_if(text, may_fold) - text.begin());
    write(text.substr(0, kept));
    text.remove_prefix(kept);
    if (text.empty()) break;
    const CodePoint point = decode_utf8(text);
    const string_view itself = text.substr(0, point.length);
    text.remove_prefix(point.length);
    switch (point.code) {  // U+0091 to U+0097 are quotes and dashes of Windows-1252
      case 0x2018:
      case 0x2019:
      case 0x201B:
      case 0x02BC:
      case 0x00B4:
      case 0x0091:
      case 0x0092:
        write("'");
        break;
      case 0x201C:
      case 0x201D:
      case 0x201E:
      case 0x201F:
      case 0x0093:
      case 0x0094:
        write("\"");
        break;
      case 0x2026:
        write("...");
        break;
      case 0x2010:
      case 0x2011:
      case 0x2212:
        write("-");
        break;
      case 0x2013:
      case 0x0096:  // a range, else a dash
        write(out > begin && is_word(out[-1]) && !text.empty() && is_word(text.front()) ? "-" : "--");
        break;
      case 0x2014:
      case 0x2015:
      case 0x0097:
        write("--");
        break;
      case 0x00AD:
      case 0x2060:
      case 0xFEFF:
        break;
      default:
        write(itself);
    }
  }
  return static_cast<size_t>(out - begin);
}

void split_words(string_view text, Tokens& out) { WordSplitter(text, out).split(); }

void split_punctuation(string_view text, Tokens& out) {
  const auto is_digit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  // Kind of the character at i, and position of the next one.
  const auto look = [&](size_t i) -> std::pair<Kind, size_t> {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) return {kKinds[byte], i + 1};
    const CodePoint point = decode_utf8(text.substr(i));
    return {kind_of(point.code), i + point.length};
  };
  // Joiners and variation selectors of emoji modify the previous character and are not tokens.
  const auto only_joins = [&](size_t i) {
    const string_view rest = text.substr(i);
    return rest.starts_with("\u200C") || rest.starts_with("\u200D") || rest.starts_with("\uFE0E") ||
           rest.starts_with("\uFE0F");
  };
  ByteMasks masks(text);
  for (size_t begin = masks.space_end(0); begin < text.size(); begin = masks.space_end(begin)) {
    auto [kind, end] = look(begin);
    if (kind == Kind::letter && only_joins(begin)) kind = Kind::space;
    if (kind == Kind::letter || kind == Kind::digit) {
      while ((end = masks.word_end(end)) < text.size() && text[end] != ' ') {
        const auto [next, after] = look(end);
        const bool point = (text[end] == '.' || text[end] == ',') && is_digit(end - 1) && is_digit(end + 1);
        if (!point && next != Kind::letter && next != Kind::digit) break;
        end = after;
      }
    }
    if (kind != Kind::space) out.push(text.substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace sentencode
