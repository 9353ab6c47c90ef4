#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Unicode as the package tokenizers 0.23 sees it. Its crates have tables of different versions of Unicode:
// characters that a version does not know have no property, and stay as they are.
namespace sentencode::unicode {

// Sets of code points, as bits.
enum Set : std::uint8_t {
  kSpace = 1,          // white space
  kPunctuation = 2,    // punctuation, and all ASCII symbols
  kNumeric = 4,        // numbers of all kinds
  kWord = 8,           // \w of regular expressions
  kControl = 16,       // removed by BertNormalizer: other characters, U+0000 and U+FFFD
  kMark = 32,          // combining marks, which StripAccents removes
  kNonspacing = 64,    // nonspacing marks, which BertNormalizer removes
  kNormalizable = 128  // may have normal forms
};
std::uint8_t sets_of(char32_t code);
inline bool is(char32_t code, Set set) { return (sets_of(code) & set) != 0; }

/// Chinese characters of BertNormalizer.
bool is_chinese(char32_t code);

enum class Form { nfc, nfd, nfkc, nfkd };

/// Appends a code point as UTF-8.
void append(char32_t code, std::string& out);
/// Appends the lower case of a code point, as str::to_lowercase without context.
void append_lowercase(char32_t code, std::string& out);
/// Appends the full decomposition of a code point, not yet in canonical order.
void append_decomposed(char32_t code, bool compatibility, std::u32string& out);
/// Whether canonical order may move a code point.
bool is_ordered(char32_t code);
/// Sorts combining marks into canonical order.
void order_marks(std::u32string& text);
/// Appends the normal form of valid UTF-8.
void append_normal(std::string_view text, Form form, std::string& out);

}  // namespace sentencode::unicode
