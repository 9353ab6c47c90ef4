#include "io/file_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "io/system.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// A lock belongs to the open file description, which a forked child would share and keep locked: children
// close these descriptors.
std::mutex held_mutex;
std::set<int>& held() {
  static auto* descriptors = new std::set<int>;  // never destroyed, as a process may fork while it exits
  return *descriptors;
}

void note_held(int descriptor) {
  static const int registered = ::pthread_atfork([] { held_mutex.lock(); }, [] { held_mutex.unlock(); },
                                                 [] {
                                                   for (const int one : held()) ::close(one);
                                                   held().clear();
                                                   held_mutex.unlock();
                                                 });
  ST_INVARIANT(registered == 0);
  const std::lock_guard lock(held_mutex);
  held().insert(descriptor);
}

}  // namespace

FileLock::FileLock(const std::string& path) { take(path, true); }

std::unique_ptr<FileLock> FileLock::unless_held(const std::string& path) {
  std::unique_ptr<FileLock> lock(new FileLock);
  return lock->take(path, false) ? std::move(lock) : nullptr;
}

bool FileLock::take(const std::string& path, bool wait) {
  for (;;) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (opened < 0 && errno == ENOENT && !error) continue;  // the folder was removed in between
    if (opened < 0 && errno == ELOOP && ::unlink(path.c_str()) == 0) continue;  // a link
    if (opened < 0) fail_to("lock", path, error ? error.value() : errno);
    Descriptor descriptor{opened};
    while (::flock(opened, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK && !wait) return false;
      if (errno != EWOULDBLOCK && errno != EINTR) fail_to("lock", path);
      poll_interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    // The previous owner may have removed the file: then others lock a new one of that name.
    struct stat mine {
    }, named{};
    if (::fstat(opened, &mine) == 0 && ::lstat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
        mine.st_dev == named.st_dev) {
      note_held(opened);
      descriptor_ = std::exchange(descriptor.fd, -1);
      process_ = ::getpid();
      return true;
    }
  }
}

void FileLock::write(std::string_view text) const {
  // For information only: who holds the lock.
  if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
    const auto written = ::pwrite(descriptor_, text.data(), text.size(), 0);
}

FileLock::~FileLock() {
  if (descriptor_ < 0 || process_ != ::getpid()) return;  // closed in a child
  const std::lock_guard lock(held_mutex);
  held().erase(descriptor_);
  ::close(descriptor_);
}

}  // namespace sentencode
