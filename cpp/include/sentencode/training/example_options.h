#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sentencode/text/tokenizer.h"
#include "sentencode/text/vocabulary.h"
#include "sentencode/training/example_file.h"

namespace sentencode {

/// How words that are not in the vocabulary are treated.
enum class UnknownWords { symbol, drop_word, drop_example };
enum class TooLong { drop, truncate };
constexpr EnumNames<3> enum_names(UnknownWords) {
  return {"unknown_words", {"symbol", "drop_word", "drop_example"}};
}
constexpr EnumNames<2> enum_names(TooLong) { return {"too_long", {"drop", "truncate"}}; }

/// How texts become the ids of one field. A symbol that is a word of the vocabulary has its id; others get
/// the ids after the vocabulary's, in the order in which fields name them (begin, end, unknown). Fields with
/// the same vocabulary share symbols.
struct FieldOptions {
  std::string name = "tokens";
  Tokenizer tokenizer{};
  std::shared_ptr<const Vocabulary> vocabulary{};
  std::string begin{}, end{};  // symbols around every example; empty: none
  UnknownWords unknown_words = UnknownWords::symbol;
  std::string unknown = "<unk>";  // for UnknownWords::symbol
  // In words, without begin and end, after unknown words were dropped. Shorter examples are dropped.
  std::int64_t min_length = 1, max_length = 0;  // 0: unlimited
  TooLong too_long = TooLong::drop;
};

/// A field made of the context of a sentence in its document. Sentences without it are dropped.
struct Neighbour {
  FieldOptions field{};     // with the tokenizer and vocabulary of the sentence
  std::int64_t offset = 1;  // position of the sentence, relative to this one
  std::int64_t words = 0;   // 0: that sentence; else the first words from its beginning, across sentences,
                            // fewer at the end of a document, without a maximum length
};

struct ExampleOptions {
  std::vector<FieldOptions> fields;   // of a row, in order; the first one is sorted by length
  std::vector<Neighbour> neighbours;  // only with a single field
  Labels labels = Labels::none;
  std::string source;                       // description for readers of the file
  std::int64_t shard_examples = 1'000'000;  // in memory, and lost at most when a build is killed
};

}  // namespace sentencode
