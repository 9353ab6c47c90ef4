#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/io/sha256.h"
#include "sentencode/sentences.h"
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

/// A hash of all that the examples' content depends on: the digest of their sources, tokenizers,
/// vocabularies, options, and the version of the format.
std::string examples_key(const ExampleOptions& options, const std::string& sources);

/// A digest of files as they lie on disk, in this order.
std::string digest_of_files(const std::vector<std::vector<std::string>>& files);

/// The like of what is not a file: of sentences, batch after batch.
class ContentDigest {
 public:
  void add(const Sentences& sentences);
  void add(std::span<const std::byte> bytes);
  std::string hex() { return hash_.hex(); }

 private:
  Sha256 hash_;
};

/// Makes a file of examples from rows of input that come batch by batch, in constant memory. Finished shards
/// are kept beside the file, in the folder `path`.parts, until it is whole: so a second builder with the same
/// key goes on where one that was killed has stopped. While it lives, other builders of the same path wait.
class ExampleBuilder {
 public:
  /// An empty key: nothing is known about the sources, so that nothing is gone on with, and what lies at the
  /// path is replaced.
  ExampleBuilder(std::string path, ExampleOptions options, std::string key);
  ~ExampleBuilder();
  ExampleBuilder(const ExampleBuilder&) = delete;
  ExampleBuilder& operator=(const ExampleBuilder&) = delete;

  /// Whether the file is there already, from the same key: then only finish() is left to do.
  bool done() const;
  /// The first row of input that has to be given: those before it are in shards.
  std::int64_t first_row() const;

  struct Rows {
    std::vector<Sentences> fields;                       // one for each field, all of the same size
    const std::vector<bool>* starts_document = nullptr;  // for each row; none: all is one document
    std::span<const std::int64_t> int_labels{};
    std::span<const float> float_labels{};
  };
  /// The rows that follow. Order is kept. `meanwhile` runs beside the tokenising, on one of its threads: it
  /// may read the next batch.
  void add(const Rows& rows, const std::function<void()>& meanwhile = nullptr);

  /// Writes the file. InvalidInput when no example is left; the message tells what became of all rows.
  std::shared_ptr<const ExampleFile> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Told after each batch: bytes of the files as they lie on disk, read and in all.
using BuildProgress = std::function<void(std::int64_t read, std::int64_t total)>;

/// Builds from files, one list of them for each field: of a single field, one sentence a line, and a blank
/// line ends a document; of several, the lines of all belong together, row by row. Files may be packed. A
/// file that was built of the same sources in the same way is opened, not built.
std::shared_ptr<const ExampleFile> build_examples(const std::string& path,
                                                  const std::vector<std::vector<std::string>>& files,
                                                  const ExampleOptions& options, const std::string& key,
                                                  const BuildProgress& progress = nullptr);

}  // namespace sentencode
