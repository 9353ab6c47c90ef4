#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "english.h"
#include "sentencode/text/corpus.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

using std::size_t;
using std::string_view;

bool is_one_of(char32_t code, std::u32string_view set) { return set.find(code) != set.npos; }

bool is_period(char32_t code) { return code == '.'; }
bool is_terminator(char32_t code) { return is_one_of(code, U".!?…‼⁇⁈⁉؟۔।。！？"); }
bool needs_no_space(char32_t code) { return is_one_of(code, U"。！？"); }
bool is_closer(char32_t code) { return is_one_of(code, U"\"')]}’”»›」』）】"); }
bool is_opener(char32_t code) { return is_one_of(code, U"\"'([{‘“„«‹「『（【¿¡-–—*_"); }

auto category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }
bool is_upper(char32_t code) {
  return category(code) == UTF8PROC_CATEGORY_LU || category(code) == UTF8PROC_CATEGORY_LT;
}
bool is_lower(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }
bool is_letter(char32_t code) {
  const auto c = category(code);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}
bool is_digit(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

class Splitter {
 public:
  explicit Splitter(string_view text) : text_(text) { start_sentence(skip_space(0)); }

  std::vector<string_view> split() {
    for (size_t i = 0; i < text_.size();) {
      if (is_plain(text_[i])) {
        ++i;
      } else if (text_[i] == '\n') {
        if (is_blank_line(i + 1)) end_sentence(i);
        i = std::max(i + 1, begin_);  // skips many blank lines at once
      } else if (is_terminator(at(i).code)) {
        i = terminator(i);
      } else {
        i += at(i).length;
      }
    }
    end_sentence(text_.size());
    return std::move(sentences_);
  }

 private:
  /// The fast path: ASCII that cannot end a sentence.
  static bool is_plain(char c) {
    return static_cast<unsigned char>(c) < 0x80 && c != '\n' && c != '.' && c != '!' && c != '?';
  }

  /// The code point at i, U+FFFD for invalid UTF-8.
  CodePoint at(size_t i) const {
    if (i >= text_.size()) return {U' ', 0};
    const CodePoint point = decode_utf8(text_.substr(i));
    return point.valid() ? point : CodePoint{0xFFFD, point.length};
  }
  template <typename Predicate>
  size_t skip(size_t i, Predicate fits) const {
    while (i < text_.size() && fits(at(i).code)) i += at(i).length;
    return i;
  }
  size_t skip_space(size_t i) const {
    while (const size_t space = whitespace_length(text_.substr(i))) i += space;
    return i;
  }

  bool is_blank_line(size_t i) const {
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t' || text_[i] == '\r')) ++i;
    return i < text_.size() && text_[i] == '\n';
  }

  /// Ends the sentence after the terminators at i, if they end one. Returns where to continue.
  size_t terminator(size_t i) {
    const size_t run = skip(i, is_terminator);
    const size_t end = skip(run, is_closer);
    if (ends_sentence(i, run, end)) end_sentence(end);
    return end;
  }

  bool ends_sentence(size_t i, size_t run, size_t end) const {
    const size_t next = skip_space(end);
    if (next == text_.size()) return true;
    if (next == end && !needs_no_space(at(i).code)) return false;
    if (closes_inner_bracket(run, end)) return false;
    const size_t word = skip(next, [](char32_t code) { return is_opener(code) || code == ' '; });
    const char32_t first = at(word).code;
    if (is_lower(first)) return false;
    const bool one_period = is_period(at(i).code) && run == i + 1;
    return !one_period || period_ends_sentence(i, word);
  }

  /// Whether the period at i, followed by a space, ends a sentence; the next word begins at `next`.
  bool period_ends_sentence(size_t i, size_t next) const {
    size_t begin = i;
    while (begin > begin_ && !is_boundary(at(before(begin)))) begin = before(begin);
    const string_view word = text_.substr(begin, i - begin);
    if (word.empty()) return true;
    const char32_t first = at(begin).code;
    const bool only_one = at(begin).length == word.size();
    if (begin == begin_ && is_number(word)) return false;  // an item of a list
    if (word == "No" || word == "no" || word == "Nos" || word == "p") return !is_digit(at(next).code);
    const string_view follower = text_.substr(next, skip(next, is_letter) - next);
    if (only_one && is_upper(first) && first != 'I') return starts_sentences(follower) && follower.size() > 1;
    switch (abbreviation(word)) {
      case Abbreviation::inside:
        return false;
      case Abbreviation::anywhere:
        return starts_sentences(follower);
      default:
        return !is_acronym(word) || starts_sentences(follower);
    }
  }

  /// Where the code point before i begins.
  size_t before(size_t i) const {
    const size_t first = i > 4 ? i - 4 : 0;
    do --i;
    while (i > first && (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80);
    return i;
  }
  /// Whether words do not reach across a character.
  bool is_boundary(CodePoint c) const {
    return is_opener(c.code) || is_closer(c.code) || is_one_of(c.code, U"/:;,<>=|") ||
           category(c.code) == UTF8PROC_CATEGORY_ZS || (c.code >= '\t' && c.code <= '\r');
  }
  static bool is_number(string_view word) {
    return std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
  }
  /// Letters with periods between them: U.S, a.m, Ph.D.
  static bool is_acronym(string_view word) {
    size_t part = 0, parts = 1;
    for (const char c : word) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (c == '.') {
        ++parts;
        part = 0;
      } else if (!letter || ++part > 2) {
        return false;
      }
    }
    return parts > 1;
  }

  /// Whether [run, end) closes a bracket that was opened within the sentence, which then continues.
  bool closes_inner_bracket(size_t run, size_t end) const {
    constexpr size_t kFarthest = 2000;
    const size_t close = text_.substr(run, end - run).find_first_of(")]");
    if (close == string_view::npos) return false;
    const size_t from = std::max(opened_, run - std::min(run, kFarthest));
    return from < run &&
           text_.substr(from, run - from).rfind(text_[run + close] == ')' ? '(' : '[') != string_view::npos;
  }

  void start_sentence(size_t at) {
    begin_ = at;
    opened_ = skip(at, is_opener);
  }

  /// Ends the sentence at `end`; the next begins after white space.
  void end_sentence(size_t end) {
    const size_t begin = begin_;
    start_sentence(skip_space(end));
    while (end > begin) {
      size_t last = end - 1;
      while (last > begin && end - last < 4 && (static_cast<unsigned char>(text_[last]) & 0xC0) == 0x80)
        --last;
      if (whitespace_length(text_.substr(last)) != end - last) break;
      end = last;
    }
    if (end > begin) sentences_.push_back(text_.substr(begin, end - begin));
  }

  const string_view text_;
  std::vector<string_view> sentences_;
  size_t begin_ = 0,
         opened_ = 0;  // of the current sentence, without and with its opening quotes and brackets
};

}  // namespace

std::vector<string_view> split_sentences(string_view text) { return Splitter(text).split(); }

}  // namespace sentencode
