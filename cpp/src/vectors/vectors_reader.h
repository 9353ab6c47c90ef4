// What the readers of word vectors share.
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

/// The two numbers of a header line.
struct VectorsHeader {
  std::int64_t rows = 0, dim = 0;
};

/// Appends so many bytes of the file, less only at its end; says how many. In steps, for a file may be small.
std::size_t append_bytes(std::string& bytes, std::size_t wanted, ByteReader& input);

/// Bytes of the file that hold whole rows, and where it may be cut for the threads.
struct VectorsBlock {
  std::string bytes;  // with room behind them for parse_float
  std::vector<std::string_view> parts;
};

/// The rows of one part, stored, but not yet part of the table.
struct VectorsPiece {
  std::string words;              // one after the other
  std::vector<std::size_t> ends;  // of each
  std::vector<std::byte> rows;
  std::vector<float> scales;
  std::vector<std::int64_t> places;  // of the rows in the table; -1 for a duplicate
  std::int64_t seen = 0;             // rows in the file, those that are not wanted included
  std::int64_t units = 0;            // of counting for messages: lines, or rows
  std::int64_t repaired = 0;
  std::string error;  // of the last unit; the rest of the part was not read
};

/// What both formats share: a block is read while the one before it is parsed, and what was parsed is taken
/// up in order.
class VectorsReader {
 public:
  VectorsReader(ByteReader& input, const ReadOptions& options, ReadReport& report)
      : input_(input), options_(options), report_(report) {}
  virtual ~VectorsReader() { std::free(rows_); }
  VectorsReader(const VectorsReader&) = delete;
  VectorsReader& operator=(const VectorsReader&) = delete;

  std::shared_ptr<const WordVectors> run();

 protected:
  /// Makes the next block; without parts at the end.
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

  /// Appends a row; false, with the reason, when a number cannot be stored.
  bool add_row(std::string_view word, std::span<const float> values, VectorsPiece& piece) const;

  ByteReader& input_;
  const ReadOptions& options_;
  ReadReport& report_;
  Storage storage_ = options_.storage.value_or(Storage::float32);
  std::int64_t dim_ = 0;
  std::optional<VectorsHeader> header_;
  std::int64_t planned_ = 0;  // rows of all blocks so far
  std::int64_t units_ = 0;    // taken up, the header line included

 private:
  /// Words one after the other, for the first of equals counts; then the rows, on all threads.
  void take(std::vector<VectorsPiece>& pieces);
  void resize(std::size_t bytes);
  std::shared_ptr<const WordVectors> finish();

  StringTable words_;
  std::byte* rows_ = nullptr;
  std::size_t capacity_ = 0;
  std::vector<float> scales_;
};

}  // namespace sentencode
