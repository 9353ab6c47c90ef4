#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace sentencode {

/// Reads a file, decompressed according to its first bytes (gzip, xz, zstd, zip, else plain), not its name.
/// Several gzip members, xz streams or zstd frames are concatenated.
class ByteReader {
 public:
  /// member: File of a zip archive; empty for its only file.
  static std::unique_ptr<ByteReader> open(const std::string& path, const std::string& member = {});
  virtual ~ByteReader() = default;
  /// Fills the buffer; returns fewer bytes only at the end. FormatError with the position if the file is
  /// damaged or truncated.
  virtual std::size_t read(std::span<char> buffer) = 0;
  virtual std::int64_t position() const = 0;  // in the compressed file
  virtual std::int64_t total() const = 0;     // size of the compressed file; 0 for a pipe
  const std::string& path() const { return path_; }

 protected:
  explicit ByteReader(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sentencode
