#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/text/tokenizer.h"
#include "sentencode/text/vocabulary.h"
#include "sentencode/training/example_file.h"

namespace sentencode {

/// What becomes of words that the vocabulary lacks.
enum class UnknownWords {
  symbol,        // each becomes the symbol `unknown`
  drop_word,     // they are left out
  drop_example,  // the whole example is
};
enum class TooLong { drop, truncate };

std::string_view name_of(UnknownWords unknown);
std::string_view name_of(TooLong too_long);
UnknownWords unknown_words_named(std::string_view name);  // InvalidInput names the choices
TooLong too_long_named(std::string_view name);

/// How texts become the ids of one field. A symbol that is a word of the vocabulary has that word's id;
/// others get the ids that follow the vocabulary's, in the order in which the fields name them (begin, end,
/// unknown): fields of the same vocabulary have the same symbols.
struct FieldOptions {
  std::string name = "tokens";
  Tokenizer tokenizer{};
  std::shared_ptr<const Vocabulary> vocabulary{};
  std::string begin{}, end{};  // stand around every example; empty: none
  UnknownWords unknown_words = UnknownWords::symbol;
  std::string unknown = "<unk>";  // asked for by UnknownWords::symbol alone
  // Words, without begin and end, after unknown ones were dropped. Shorter examples are dropped.
  std::int64_t min_length = 1, max_length = 0;  // 0: no bound
  TooLong too_long = TooLong::drop;
};

/// A field that is not read, but made of what stands around a sentence in its document: never beyond it. A
/// sentence without it gives no example.
struct Neighbour {
  FieldOptions field{};     // tokenizer and vocabulary are those of the sentence
  std::int64_t offset = 1;  // the sentence so many places on, or back where it is negative
  std::int64_t words = 0;   // more than 0: the first so many words from there on, over the ends of sentences;
                            // fewer at the end of a document. Lengths are not bounded otherwise from above
};

struct ExampleOptions {
  std::vector<FieldOptions> fields;   // what a row of input holds, in order; the first one is the primary
  std::vector<Neighbour> neighbours;  // only with a single field
  Labels labels = Labels::none;
  std::string source;                       // for the reader of the file: what it was made of
  std::int64_t shard_examples = 1'000'000;  // that are in memory together, and safe when a shard is written
};

}  // namespace sentencode
