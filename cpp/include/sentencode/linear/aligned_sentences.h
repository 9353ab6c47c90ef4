#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

/// A batch of sentences, longest first, so that those with a word at position k are the first rows.
class AlignedSentences {
 public:
  /// Position 0 is the last word in the order of `reading`, or the first.
  enum class End { last, first };
  AlignedSentences(const RaggedIds& sentences, std::int64_t begin, std::int64_t end, Reading reading, End at);

  std::int64_t size() const { return std::ssize(order_); }
  std::int64_t longest() const { return std::ssize(size_at_); }
  std::int64_t sentence(std::int64_t row) const {
    return order_[static_cast<std::size_t>(row)];
  }  // index of the sentence
  std::int64_t length(std::int64_t row) const { return std::ssize(words_of(row)); }
  /// Number of rows that have a word at position k.
  std::int64_t size_at(std::int64_t k) const {
    return k < longest() ? size_at_[static_cast<std::size_t>(k)] : 0;
  }

  /// x of positions [first, last), minus centre unless that is empty: size_at(first) rows, then
  /// size_at(first + 1), ... Adds each row's words to `sum` [size, n], unless it is null.
  Matrix words(const WeightedWords& words, const Vector& centre, std::int64_t first, std::int64_t last,
               Matrix* sum = nullptr) const;

 private:
  std::span<const std::int32_t> words_of(std::int64_t row) const {
    return (*sentences_)[order_[static_cast<std::size_t>(row)]];
  }

  const RaggedIds* sentences_;
  bool from_back_;                     // of the ids
  std::vector<std::int64_t> order_;    // [rows]
  std::vector<std::int64_t> size_at_;  // [longest]
};

}  // namespace sentencode
