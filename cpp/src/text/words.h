#pragma once

#include <cstddef>
#include <string_view>

#include "sentencode/text/tokenizer.h"

namespace sentencode {

/// Converts typographic quotes, dashes and ellipses of valid UTF-8 to ASCII, and removes characters that only
/// control hyphenation and line breaks. Returns the number of bytes written, at most text.size().
std::size_t fold_typography(std::string_view text, char* out);
/// If false, fold_typography would only copy the text. This is fast.
bool has_typography(std::string_view text);

/// Appends the tokens that the tokenizer `words` splits `text` into, as docs/text.md specifies. `text` is
/// valid UTF-8, with folded typography unless it is ASCII. Most tokens are views into it.
void split_words(std::string_view text, Tokens& out);

/// The same for the tokenizer `punctuation`.
void split_punctuation(std::string_view text, Tokens& out);

}  // namespace sentencode
