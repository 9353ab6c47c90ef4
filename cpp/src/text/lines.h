#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/io/byte_reader.h"

namespace sentencode {

/// Reads lines of a file, compressed or not, without line ends, byte-order mark, and CR before LF.
class LineReader {
 public:
  LineReader(const std::string& path, std::size_t max_line_bytes);

  /// The next line, valid until the next call; nullopt at the end. FormatError if it is too long.
  std::optional<std::string_view> next();

  std::int64_t number() const { return number_; }  // of the last line, from 1
  std::int64_t position() const { return bytes_->position(); }
  std::int64_t total() const { return bytes_->total(); }

 private:
  std::string_view line(std::string_view text);
  bool fill();  // reads more into the buffer; false at the end of the file

  std::unique_ptr<ByteReader> bytes_;
  std::size_t max_line_bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread bytes of it
  std::int64_t number_ = 0;
};

}  // namespace sentencode
