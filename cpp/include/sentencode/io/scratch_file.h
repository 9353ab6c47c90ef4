#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sentencode {

/// Memory that grows with a corpus: a mapped file without a name, which the system may write to the disk. It
/// is gone with the object, or with the process.
class ScratchFile {
 public:
  /// In this folder or, where nobody may write there, in the system's for temporary files.
  ScratchFile(const std::string& folder, std::size_t size);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace sentencode
