#pragma once

#include <cstdint>
#include <string_view>

namespace sentencode {

enum class Abbreviation : std::uint8_t {
  none,
  inside,    // a sentence never ends with it: Mr., e.g.
  anywhere,  // a sentence may end with it: Inc., etc.
};

/// What a word is, without its final period, in any case.
Abbreviation abbreviation(std::string_view word);

/// Whether this is the last part of a name of the internet, as `com` is. In any case.
bool is_domain(std::string_view word);

/// Whether sentences often begin with this word, and names never do: The, He, But. In any case.
bool starts_sentences(std::string_view word);

}  // namespace sentencode
