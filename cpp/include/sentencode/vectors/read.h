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
  text,             // a word and its numbers a line: GloVe; word2vec and fastText with their header line
  word2vec_binary,  // a header line, then words and raw float32
  fasttext,         // a model of fastText's (.bin), with its subwords
  native,           // our own, which is mapped; see WordVectors::save
};

struct ReadOptions {
  VectorFormat format = VectorFormat::automatic;
  std::int64_t limit = 0;                // 0: all; else only the first so many rows of the file
  const StringTable* only = nullptr;     // keep these words only
  std::optional<Storage> storage{};      // none: as in the file, float32 for text
  std::optional<OutOfVocabulary> oov{};  // none: `subwords` where the file has them, else `skip`
  std::string member{};                  // the file of a zip archive that is meant; empty: its only one
  std::int64_t dim = 0;                  // 0: from the header, or what most of the first lines hold
  std::function<void(std::int64_t done, std::int64_t total)>
      progress{};                                  // bytes of the file; total 0: unknown
  std::size_t block_bytes = std::size_t{1} << 24;  // that are parsed at a time, on all threads
};

struct ReadReport {
  std::int64_t rows = 0;        // in the file, as far as it was read
  std::int64_t duplicates = 0;  // of a word that had come before
  std::int64_t repaired = 0;    // words that were not UTF-8
};

/// Reads published vectors, plain or compressed. Words may hold spaces: lines are split from the right. Of
/// duplicates the first counts; bytes of words that are not UTF-8 become U+FFFD. A number that is not finite,
/// a line with too few or too many fields, an end that comes too early is a FormatError that names file, line
/// or byte, and what was expected.
std::shared_ptr<const WordVectors> read_vectors(const std::string& path, const ReadOptions& options = {},
                                                ReadReport* report = nullptr);
std::shared_ptr<const WordVectors> read_vectors(ByteReader& input, const ReadOptions& options = {},
                                                ReadReport* report = nullptr);

enum class TextFormat { glove, word2vec };  // without and with a header line of two numbers

/// Writes vectors for other programs, each number with as many digits as bring it back. Words that the format
/// cannot hold are an InvalidInput.
void write_text(const WordVectors& vectors, const std::string& path, TextFormat format);
void write_word2vec_binary(const WordVectors& vectors, const std::string& path);

}  // namespace sentencode
