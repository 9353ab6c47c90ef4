// Base class of the readers of word vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/vectors/read.h"

namespace sentencode {

inline constexpr std::size_t kMaxLine = std::size_t{1} << 26;  // bytes of a line in a text file
inline constexpr std::size_t kPartsPerBlock = 16;
inline constexpr int kLinesToGuessFrom = 100;

/// A header line.
struct VectorsHeader {
  std::int64_t rows = 0, dim = 0;
};

/// Appends `count` bytes of the file, fewer only at its end, and returns their number.
std::size_t append_bytes(std::string& bytes, std::size_t count, ByteReader& input);

/// A part of the file that contains whole rows, divided for the threads.
struct VectorsBlock {
  std::string bytes;  // padded for parse_float
  std::vector<std::string_view> parts;
};

/// The parsed rows of a part, which are not yet in the table.
struct VectorsPiece {
  std::string words;              // concatenated
  std::vector<std::size_t> ends;  // of each word
  std::vector<std::byte> rows;
  std::vector<float> scales;
  std::vector<std::int64_t> positions;  // of the rows in the table; -1 for a duplicate
  std::int64_t read = 0;                // rows in the file, including unwanted ones
  std::int64_t units = 0;               // lines or rows, for messages
  std::int64_t repaired = 0;
  std::string error;  // of the last unit; the rest of the part was not read
};

/// Reads a block while the previous one is parsed on all threads, and adds the rows in order.
class VectorsReader {
 public:
  VectorsReader(ByteReader& input, const ReadOptions& options, ReadReport& report)
      : input_(input), options_(options), report_(report) {}
  virtual ~VectorsReader() { std::free(rows_); }
  VectorsReader(const VectorsReader&) = delete;
  VectorsReader& operator=(const VectorsReader&) = delete;

  std::shared_ptr<const WordVectors> run();

 protected:
  /// Reads the next block; without parts at the end.
  virtual void next_block(VectorsBlock& block) = 0;
  virtual void parse(std::string_view part, VectorsPiece& piece) const = 0;
  virtual const char* unit() const = 0;
  virtual void check_end() const {}

  template <typename... Why>
  [[noreturn]] void fail(const Why&... why) const {
    throw FormatError(concat(input_.path(), ": ", why...));
  }
  std::size_t row_bytes() const { return static_cast<std::size_t>(dim_) * element_bytes(storage_); }
  bool wanted(std::string_view word) const {
    return options_.only == nullptr || options_.only->find(word) != StringTable::kMissing;
  }

  /// Appends a row; false, with an error in the piece, if a value cannot be stored.
  bool add_row(std::string_view word, std::span<const float> values, VectorsPiece& piece) const;

  ByteReader& input_;
  const ReadOptions& options_;
  ReadReport& report_;
  Storage storage_ = options_.storage.value_or(Storage::float32);
  std::int64_t dim_ = 0;
  std::optional<VectorsHeader> header_;
  std::int64_t planned_ = 0;  // rows of all blocks so far
  std::int64_t units_ = 0;    // added to the table, including the header line

 private:
  /// Adds words in order, as the first of duplicates counts; then rows, on all threads.
  void add(std::vector<VectorsPiece>& pieces);
  void resize(std::size_t bytes);
  std::shared_ptr<const WordVectors> finish();

  StringTable words_;
  std::byte* rows_ = nullptr;
  std::size_t capacity_ = 0;
  std::vector<float> scales_;
};

}  // namespace sentencode
