#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sentencode/sentences.h"
#include "sentencode/text/string_table.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/vectors/sparse.h"

namespace sentencode {

/// What a neighbour at distance d counts in a window of n words.
enum class WindowWeight {
  linear,    // (n + 1 - d) / n: on average what word2vec's windows of random width see
  harmonic,  // 1 / d: GloVe
  flat,      // 1
};

/// Their names in Python; InvalidInput when a name is none of these.
std::string_view name_of(WindowWeight weight);
WindowWeight window_weight_named(std::string_view name);

struct WindowOptions {
  int size = 5;  // words on either side; never beyond the sentence
  WindowWeight weight = WindowWeight::linear;
  std::int64_t buffer = 1 << 25;  // words held before they are counted, 8 bytes each: more at once is faster
};

/// Counts how often the words of a table stand near each other. Other words are dropped first, so that a
/// window reaches over them. Any number of sentences: memory grows with the distinct pairs alone.
class CooccurrenceCounter {
 public:
  CooccurrenceCounter(StringTable words, Tokenizer tokenizer, WindowOptions options = {});

  void add(const Sentences& sentences);
  /// Adds what another counter of the same words, cut and weighed alike, has seen.
  void merge(CooccurrenceCounter other);
  /// Adds what another such counter has finished: of another process, say. InvalidInput where it is no matrix
  /// [words, words].
  void add(const SparseMatrix& counts);
  /// Symmetric [words, words]: entry (i, j) sums the weights of all j near an i. The counter is empty then.
  SparseMatrix finish();

 private:
  struct Row {
    std::vector<std::int32_t> columns;  // rising
    std::vector<float> values;
  };

  void count_buffer();

  StringTable words_;
  Tokenizer tokenizer_;
  std::size_t buffer_limit_;
  std::vector<float> weights_;        // [1 + window]: by distance
  std::vector<std::int32_t> buffer_;  // ids of sentences not yet counted, each sentence after a kBoundary
  std::vector<Row> rows_;
};

}  // namespace sentencode
