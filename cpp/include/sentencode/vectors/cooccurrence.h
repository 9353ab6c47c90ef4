#pragma once

#include <cstdint>
#include <vector>

#include "sentencode/enum_names.h"
#include "sentencode/sentences.h"
#include "sentencode/text/string_table.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/vectors/sparse.h"

namespace sentencode {

/// The weight of a neighbour at distance d in a window of n words.
enum class WindowWeight {
  linear,    // (n + 1 - d) / n: the expectation of word2vec's windows of random width
  harmonic,  // 1 / d: GloVe
  flat,      // 1
};
constexpr EnumNames<3> enum_names(WindowWeight) { return {"weight", {"linear", "harmonic", "flat"}}; }

struct WindowOptions {
  int size = 5;  // words on either side; never beyond the sentence
  WindowWeight weight = WindowWeight::linear;
  std::int64_t buffer = 1 << 25;  // words per counting pass, 8 bytes each: larger is faster
};

/// Counts co-occurrences of the words of a table. Other words are removed before windows are taken. Memory
/// grows with the distinct pairs, not with the number of sentences.
class CooccurrenceCounter {
 public:
  CooccurrenceCounter(StringTable words, Tokenizer tokenizer, WindowOptions options = {});

  void add(const Sentences& sentences);
  /// Adds the counts of another counter with the same words, tokenizer and window.
  void merge(CooccurrenceCounter other);
  /// Adds the finished counts of another such counter, such as one of another process [words, words].
  void add(const SparseMatrix& counts);
  /// Symmetric [words, words]: entry (i, j) sums the weights of all j near i. Empties the counter.
  SparseMatrix finish();

 private:
  struct Row {
    std::vector<std::int32_t> columns;  // ascending
    std::vector<float> values;
  };

  void count_buffer();

  StringTable words_;
  Tokenizer tokenizer_;
  std::size_t buffer_limit_;
  std::vector<float> weights_;        // by distance [1 + window]
  std::vector<std::int32_t> buffer_;  // ids of sentences not yet counted, a kBoundary before each sentence
  std::vector<Row> rows_;
};

}  // namespace sentencode
