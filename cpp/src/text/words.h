#pragma once

#include <cstddef>
#include <string_view>

#include "sentencode/text/tokenizer.h"

namespace sentencode {

/// Writes typographic quotes, dashes and ellipses of valid UTF-8 in ASCII, and leaves out what only steers
/// hyphenation and line breaks. Returns how many bytes were written: never more than there were.
std::size_t fold_typography(std::string_view text, char* out);

/// The tokens of valid UTF-8 as docs/text.md specifies them for `words`, most of them views into `text`,
/// which has to be folded where it is not ASCII.
void split_words(std::string_view text, Tokens& out);

/// The same for `punctuation`.
void split_punctuation(std::string_view text, Tokens& out);

}  // namespace sentencode
