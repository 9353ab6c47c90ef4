#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace sentencode {

/// Bytes from a file, unpacked by what its first bytes say (gzip, xz, zstd, zip, else plain), not by its
/// name. Files of several gzip members, xz streams or zstd frames are read to their end.
class ByteReader {
 public:
  /// `member`: which file of a zip archive; empty: its only one.
  static std::unique_ptr<ByteReader> open(const std::string& path, const std::string& member = {});
  virtual ~ByteReader() = default;
  /// Fills the buffer; less only at the end, 0 after it. A damaged or truncated file is a FormatError with
  /// the byte's position.
  virtual std::size_t read(std::span<char> buffer) = 0;
  virtual std::int64_t position() const = 0;  // in the file as it lies on disk
  virtual std::int64_t total() const = 0;     // its size there; 0 for a pipe
  const std::string& path() const { return path_; }

 protected:
  explicit ByteReader(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sentencode
