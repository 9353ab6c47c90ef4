#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

namespace sentencode {

/// Keeps other processes, and other threads, that lock the same file waiting while it lives. The system lets
/// it go when its process dies, in whatever way: a forked child does not inherit it. Waiting can be
/// interrupted.
class FileLock {
 public:
  explicit FileLock(const std::string& path);  // made when it is not there
  /// The same without waiting: nothing where another one holds the lock. A symbolic link is refused.
  static std::unique_ptr<FileLock> unless_held(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  void write(std::string_view text) const;  // in the place of what the file holds

 private:
  FileLock() = default;
  bool take(const std::string& path, bool wait);  // whether it did

  int descriptor_ = -1;
  pid_t process_ = 0;
};

}  // namespace sentencode
