#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// An element of "added_tokens" in tokenizer.json.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

/// Finds added tokens in text, before it is split into words.
class AddedTokens {
 public:
  /// A part of the text, and the id of the token that it is; -1 if it is none.
  struct Part {
    std::size_t begin = 0, end = 0;
    std::int32_t id = -1;
  };

  /// Unsupported if two patterns are equal, or one is empty.
  void add(AddedToken token, std::string pattern);

  bool empty() const { return tokens_.empty(); }
  /// Replaces `parts` by the parts of the text. Parts of tokens may overlap the previous part, if both strip
  /// white space.
  void split(std::string_view text, std::vector<Part>& parts) const;

 private:
  struct Match {
    std::size_t begin = 0, end = 0;
    const AddedToken* token = nullptr;
  };
  /// The first match from `at` on, the longest of those that begin there. No token: none.
  Match find(std::string_view text, std::size_t at) const;

  std::vector<std::string> patterns_;  // sorted
  std::vector<AddedToken> tokens_;     // in the same order
  std::array<bool, 256> begins_{};     // by byte: whether a pattern begins with it
  int begin_ = -1;                     // the byte with which all begin; -1 if they differ
};

}  // namespace sentencode
