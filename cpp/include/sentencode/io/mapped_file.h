#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sentencode {

/// A file mapped read-only. It holds a shared lock (flock, if the file system has it), so that
/// `remove_unused` does not remove it.
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

}  // namespace sentencode
