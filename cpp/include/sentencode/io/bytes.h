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

/// A file mapped read-only. Pages are read when they are touched. It is locked as read (flock, where the file
/// system has that): `remove_unused` leaves it.
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
  int descriptor_ = -1;
};

/// Writes a file that is there whole or not at all: a temporary sibling, flushed to disk, then renamed. So
/// whoever has the old file mapped keeps it as it was. It keeps its permissions, and links stay links. What
/// writers of the same file left when they were killed is removed: nobody holds the lock on it.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile() { discard(); }  // an uncommitted file leaves nothing behind
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();
  void discard();                                 // unless it was committed
  int descriptor() const { return descriptor_; }  // for who writes by other means, past our buffer

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);

  std::string path_, temporary_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// Removes a file unless a process has it mapped, or writes it; whether it did.
bool remove_unused(const std::string& path);

/// Removes what killed writers of a folder's files left there; of the file `name` alone, unless it is empty.
void remove_leftovers(const std::string& folder, const std::string& name = {});

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
