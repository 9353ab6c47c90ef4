#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/subwords/normalizer.h"

namespace sentencode {

/// BERT's normalizer and pre-tokenizer in two passes over the text: normalise, then split eight bytes at a
/// time.
class BertSplitter {
 public:
  /// Memory for one thread.
  struct Memory {
    // Normalised text, in which other punctuation than ASCII is between spaces, and its words. They never
    // shrink.
    std::string normal;
    std::vector<std::string_view> words;
    struct Character {
      std::uint32_t key = 0;  // of the code point and the options
      std::uint8_t size = 0;
      std::array<char, 11> bytes{};  // normalised
    };
    std::vector<Character> characters;  // a cache of code points that are not ASCII
  };

  BertSplitter() = default;
  explicit BertSplitter(const BertOptions& options);

  /// The words, in `memory`. Nothing if the text needs the general normalizer.
  std::optional<std::span<const std::string_view>> operator()(std::string_view text, Memory& memory) const;

 private:
  /// Writes memory.normal. The number of blocks; 0 if the text needs the general normalizer.
  std::size_t normalise(std::string_view text, Memory& memory) const;
  /// The normal form of a character that is not ASCII; null if it depends on others, or is long.
  const Memory::Character* normal_form(char32_t code, Memory& memory) const;

  BertOptions options_;
  std::array<bool, 128> removed_{};
};

}  // namespace sentencode
