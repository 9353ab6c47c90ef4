#include "io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

FileLock::FileLock(const std::string& path) {
  const auto fail = [&](int code) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw IoError(concat("cannot lock ", path, ": ", std::strerror(code)), code);
  };
  for (;;) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0 && errno == ENOENT && !error) continue;  // the folder went away in between
    if (descriptor_ < 0 && errno == ELOOP && ::unlink(path.c_str()) == 0) continue;  // a link
    if (descriptor_ < 0) fail(error ? error.value() : errno);
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail(errno);
      try {
        poll_interrupt();
      } catch (...) {
        ::close(descriptor_);
        throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    // Whoever had it may have removed the file: then others lock a new one of that name.
    struct stat held {
    }, named{};
    if (::fstat(descriptor_, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev)
      return;
    ::close(descriptor_);
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace sentencode
