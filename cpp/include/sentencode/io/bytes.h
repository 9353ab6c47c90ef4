#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// A file mapped read-only. Pages are read when they are touched.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;
  std::string path_;
  std::span<const std::byte> bytes_;
};

/// Writes a file that is there whole or not at all: a temporary sibling, flushed to disk, then renamed. So
/// whoever has the old file mapped keeps it as it was.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // an uncommitted file leaves nothing behind
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);

  std::string path_, temporary_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// Bytes from a file, unpacked by what its first bytes say (gzip, xz, zstd, else plain), not by its name.
/// Files of several gzip members, xz streams or zstd frames are read to their end.
class ByteReader {
 public:
  static std::unique_ptr<ByteReader> open(const std::string& path);
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

/// SHA-256, our name for content: of bytes that come one piece after the other.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  std::string hex();  // 64 hexadecimal digits; nothing can be added after it

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t bytes_ = 0;
};

std::string sha256(std::span<const std::byte> bytes);

}  // namespace sentencode
