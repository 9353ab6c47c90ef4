#pragma once

#include <cstdint>
#include <string_view>

namespace sentencode {

enum class Abbreviation : std::uint8_t {
  none,
  inside,    // never ends a sentence: Mr., e.g.
  anywhere,  // may end a sentence: Inc., etc.
};

/// Class of a word without its final period, in any case.
Abbreviation abbreviation(std::string_view word);

/// Whether this is a top-level domain, such as `com`, in any case.
bool is_domain(std::string_view word);

/// Whether sentences often, and names never, begin with this word: The, He, But. In any case.
bool starts_sentences(std::string_view word);

}  // namespace sentencode
