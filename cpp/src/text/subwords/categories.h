#pragma once

#include <cstdint>

namespace sentencode {

/// General categories of characters as regular expressions of tokenizers distinguish them.
enum class Category : std::uint8_t { other, letter, number, mark, punctuation, symbol, space };

/// The category in Unicode 16, which the package `tokenizers` 0.23 has (Oniguruma 6.9.10).
Category category_of(char32_t code);

}  // namespace sentencode
