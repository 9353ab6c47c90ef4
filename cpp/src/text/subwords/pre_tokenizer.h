#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "sentencode/enum_names.h"
#include "sentencode/text/tokenizer.h"

namespace sentencode {

/// A part of the text. Its first `at_begin` bytes come from the first byte of the sentence; Metaspace may
/// prefix such parts only.
struct SubwordPiece {
  std::string_view text;
  std::size_t at_begin = 0;

  SubwordPiece part(std::size_t begin, std::size_t end) const {
    return {text.substr(begin, end - begin), at_begin > begin ? at_begin - begin : 0};
  }
};

/// Appends the parts of a piece; `memory` keeps changed text.
using SubwordPreTokenizer =
    std::function<void(const SubwordPiece& piece, Tokens& memory, std::vector<SubwordPiece>& out)>;

/// What becomes of a delimiter.
enum class DelimiterBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
constexpr EnumNames<5> enum_names(DelimiterBehavior) {
  return {"behavior", {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}};
}

/// A stretch of a piece, which is a delimiter or text between them. Stretches cover the piece.
struct Stretch {
  std::size_t begin = 0, end = 0;
  bool delimiter = false;
};
void append_parts(const SubwordPiece& piece, std::span<const Stretch> stretches, DelimiterBehavior behavior,
                  std::vector<SubwordPiece>& out);

/// The field "pre_tokenizer" of tokenizer.json: steps that are applied one after the other.
class SubwordPreTokenizers {
 public:
  explicit SubwordPreTokenizers(const nlohmann::json& pre_tokenizer);  // null: none

  /// Whether it is a BertPreTokenizer.
  bool bert() const { return bert_; }
  /// Whether a step depends on SubwordPiece::at_begin.
  bool needs_begin() const { return needs_begin_; }
  /// How many times as long the steps can make a text.
  double growth() const { return growth_; }
  /// Replaces pieces by their parts, which are not empty; `other` is a buffer.
  void operator()(std::vector<SubwordPiece>& pieces, std::vector<SubwordPiece>& other, Tokens& memory) const;

 private:
  void add(const nlohmann::json& pre_tokenizer, const std::string& name, int depth);

  std::vector<SubwordPreTokenizer> steps_;
  bool bert_ = false, needs_begin_ = false, prefixes_ = false;  // `prefixes_`: ByteLevel adds a space
  double growth_ = 1;
};

}  // namespace sentencode
