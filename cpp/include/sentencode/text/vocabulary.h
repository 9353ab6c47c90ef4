#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/sentences.h"
#include "sentencode/text/string_table.h"
#include "sentencode/text/tokenizer.h"

namespace sentencode {

/// Words and their counts, most frequent first (ties in alphabetical order of bytes). Immutable.
class Vocabulary {
 public:
  /// Words in any order; counts must not be negative. total: Number of tokens, including those of words that
  /// were pruned; 0: the sum of the counts.
  Vocabulary(const StringTable& words, std::span<const std::int64_t> counts, std::int64_t total = 0);

  std::int64_t size() const { return words_.size(); }
  std::int64_t total() const { return total_; }
  std::int32_t find(std::string_view word) const { return words_.find(word); }
  const StringTable& words() const { return words_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }

  /// The words that were counted min_count times or more, at most the first max_size of them (0: no limit).
  Vocabulary pruned(std::int64_t min_count, std::int64_t max_size) const;

  /// Reads a file with a line `word count` per word, such as SIF's enwiki file, plain or compressed. Invalid
  /// UTF-8 becomes U+FFFD. Errors name file and line.
  static Vocabulary read(const std::string& path);
  void write(const std::string& path) const;  // atomic

 private:
  StringTable words_;
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
};

/// Counts words batch by batch, on all threads. The result does not depend on the number of threads, the
/// batches or their order.
class VocabularyCounter {
 public:
  explicit VocabularyCounter(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  void add(const Sentences& sentences);
  void merge(const VocabularyCounter& other);  // InvalidInput if tokenizers differ
  /// max_size 0: no limit.
  Vocabulary finish(std::int64_t min_count = 1, std::int64_t max_size = 0) const;
  std::int64_t sentences() const { return sentences_; }

 private:
  struct Counts {
    StringTable words;
    std::vector<std::int64_t> counts;

    void add(std::string_view word, std::int64_t count);
    void add(const Counts& other);
  };
  Tokenizer tokenizer_;
  Counts counts_;
  std::int64_t sentences_ = 0;
};

}  // namespace sentencode
