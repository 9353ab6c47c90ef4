#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

namespace sentencode {

/// An exclusive lock on a file, against other processes and threads. It is released when the process ends, in
/// whatever way; forked children do not inherit it. Waiting can be interrupted.
class FileLock {
 public:
  explicit FileLock(const std::string& path);  // creates the file
  /// The same without waiting: nullopt if another one holds the lock. Refuses symbolic links.
  static std::unique_ptr<FileLock> unless_held(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  void write(std::string_view text) const;  // replaces the content

 private:
  FileLock() = default;
  bool take(const std::string& path, bool wait);  // whether it is locked

  int descriptor_ = -1;
  pid_t process_ = 0;
};

}  // namespace sentencode
