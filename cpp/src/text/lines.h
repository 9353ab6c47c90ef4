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

/// The lines of one file, packed or not, without their ends. A byte-order mark and CR before LF are dropped.
class LineReader {
 public:
  LineReader(const std::string& path, std::size_t max_line_bytes);

  /// The next line, there until the next call; nothing at the end. FormatError when it is too long.
  std::optional<std::string_view> next();

  std::int64_t number() const { return number_; }  // of the last line, from 1
  std::int64_t position() const { return bytes_->position(); }
  std::int64_t total() const { return bytes_->total(); }

 private:
  std::string_view line(std::string_view text);
  bool fill();  // reads on behind what is held; false at the file's end

  std::unique_ptr<ByteReader> bytes_;
  std::size_t max_line_bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what is held in it
  std::int64_t number_ = 0;
};

}  // namespace sentencode
