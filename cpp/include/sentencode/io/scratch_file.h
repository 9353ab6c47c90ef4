#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sentencode {

/// Memory in a mapped file without a name, which the system may write to disk. It is freed with the object or
/// the process.
class ScratchFile {
 public:
  /// In this folder or, if it is not writable, in the system's folder of temporary files.
  ScratchFile(const std::string& folder, std::size_t size);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace sentencode
