#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sentencode/io/byte_reader.h"
#include "sentencode/text/string_table.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

enum class VectorFormat {
  automatic,
  text,             // a word and its vector per line: GloVe; word2vec and fastText with a header line
  word2vec_binary,  // a header line, then words and raw float32
  fasttext,         // a fastText model (.bin), with its subwords
  native,           // Sentencode's format, which is mapped; see WordVectors::save
};

struct ReadOptions {
  VectorFormat format = VectorFormat::automatic;
  std::int64_t limit = 0;                // maximum of rows that are read; 0: all
  const StringTable* only = nullptr;     // keep these words only
  std::optional<Storage> storage{};      // default: as in the file, float32 for text
  std::optional<OutOfVocabulary> oov{};  // default: `subwords` if the file has them, else `skip`
  std::string member{};                  // file of a zip archive; empty for its only file
  std::int64_t dim = 0;                  // 0: from the header, or from most of the first lines
  std::function<void(std::int64_t done, std::int64_t total)>
      progress{};                                  // bytes of the file; total 0: unknown
  std::size_t block_bytes = std::size_t{1} << 24;  // parsed at a time, on all threads
};

struct ReadReport {
  std::int64_t rows = 0;        // of the file that were read
  std::int64_t duplicates = 0;  // rows of a repeated word
  std::int64_t repaired = 0;    // words that were not UTF-8
};

/// Reads vectors, plain or compressed. Words may contain spaces: lines are split from the right. The first of
/// duplicates counts; invalid UTF-8 becomes U+FFFD. A number that is not finite, a line with too few or too
/// many fields or a premature end is a FormatError that names file, line or byte, and what was expected.
std::shared_ptr<const WordVectors> read_vectors(const std::string& path, const ReadOptions& options = {},
                                                ReadReport* report = nullptr);
std::shared_ptr<const WordVectors> read_vectors(ByteReader& input, const ReadOptions& options = {},
                                                ReadReport* report = nullptr);

enum class TextFormat { glove, word2vec };  // without and with a header line "words dim"

/// Writes vectors for other programs, with enough digits to read back the same numbers. InvalidInput if the
/// format cannot represent a word.
void write_text(const WordVectors& vectors, const std::string& path, TextFormat format);
void write_word2vec_binary(const WordVectors& vectors, const std::string& path);

}  // namespace sentencode
