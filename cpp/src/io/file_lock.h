#pragma once

#include <string>

namespace sentencode {

/// Keeps other processes, and other threads, that lock the same file waiting while it lives. The system lets
/// it go when its process dies, in whatever way. Waiting can be interrupted.
class FileLock {
 public:
  explicit FileLock(const std::string& path);  // made when it is not there
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace sentencode
