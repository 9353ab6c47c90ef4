#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sentencode/io/byte_reader.h"

namespace sentencode {

/// Reads a file or a pipe piece by piece.
class RawInput {
 public:
  explicit RawInput(const std::string& path);
  ~RawInput();
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;

  /// The unread part of the buffer, at least `wanted` bytes unless the file ends before.
  std::span<const std::uint8_t> peek(std::size_t wanted = 1);
  void consume(std::size_t bytes) { begin_ += bytes; }
  /// Reads directly into the caller's memory.
  std::size_t read(std::span<char> out);

  std::int64_t position() const { return taken_ - static_cast<std::int64_t>(end_ - begin_); }
  std::int64_t total() const { return total_; }
  const std::string& path() const { return path_; }

 private:
  void wait() const;  // until there is something to read; polls for Ctrl-C
  std::size_t read_some(void* out, std::size_t bytes);

  static constexpr std::size_t kBuffer = 1 << 18;
  std::string path_;
  int descriptor_ = -1;
  bool is_stream_ = false;  // a pipe or a device
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t taken_ = 0, total_ = 0;
};

std::unique_ptr<ByteReader> make_gzip_reader(std::unique_ptr<RawInput> input);
std::unique_ptr<ByteReader> make_xz_reader(std::unique_ptr<RawInput> input);
std::unique_ptr<ByteReader> make_zip_reader(const std::string& path, const std::string& member);
std::unique_ptr<ByteReader> make_zstd_reader(std::unique_ptr<RawInput> input);

}  // namespace sentencode
