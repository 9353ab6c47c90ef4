#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "text/subwords/json_fields.h"
#include "text/subwords/pre_tokenizer.h"

namespace sentencode {

/// A pattern of the pre-tokenizer Split: a string, or one of the regular expressions that published models
/// use.
class SplitPattern {
 public:
  explicit SplitPattern(std::string literal);                             // not empty
  static std::optional<SplitPattern> regex(std::string_view expression);  // nothing for other ones
  static SplitPattern gpt2();

  /// Calls visit(part, is_match) for all matches and what is between them: together, they are the text.
  template <typename Visit>
  void for_each_part(std::string_view text, const Visit& visit) const {
    std::size_t done = 0;
    while (done < text.size()) {
      const auto [begin, end] = find(text, done);
      if (done < begin) visit(text.substr(done, begin - done), false);
      if (begin < end) visit(text.substr(begin, end - begin), true);
      done = end;
    }
  }

 private:
  struct Match {
    std::size_t begin, end;
  };
  /// The end of the match that begins at text[begin]; begin if there is none.
  using End = std::size_t (*)(std::string_view text, std::size_t begin);

  Match find(std::string_view text, std::size_t from) const;  // both are the text's size if there is none

  std::string literal_;
  End end_ = nullptr;
};

/// The pre-tokenizer Split, whose matches are delimiters; with "invert", the text between them is.
SubwordPreTokenizer split_pre_tokenizer(const JsonFields& fields, DelimiterBehavior behavior);

}  // namespace sentencode
