#include "sentencode/io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "io/system.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

constexpr std::string_view kPart = ".sentencode-part-";  // followed by the process id, a dash and a counter

/// The beginning of a name that fits a file name of 255 bytes with `kPart` and two numbers after it.
std::string_view beginning(std::string_view name) {
  std::size_t size = std::min<std::size_t>(name.size(), 200);
  while (size < name.size() && (name[size] & 0xC0) == 0x80) --size;  // not within a character
  return name.substr(0, size);
}

/// The beginning of the final name of a temporary file; empty for other files.
std::string_view written_name(std::string_view name) {
  const auto part = name.rfind(kPart), dash = name.rfind('-');
  if (part == std::string_view::npos || dash < part + kPart.size()) return {};
  const bool is_temporary = is_number(name.substr(part + kPart.size(), dash - part - kPart.size())) &&
                            is_number(name.substr(dash + 1));
  return is_temporary ? name.substr(0, part) : std::string_view();
}

/// Whether a path still names the open file.
bool is_named(int descriptor, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

std::string link_target(const std::string& path) {
  std::string target = path;
  struct stat named {};
  if (::lstat(system_name(path), &named) != 0 || !S_ISLNK(named.st_mode)) return target;
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) fail_to("follow the symbolic link", path);
  target = real;
  std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): POSIX requires it
  return target;
}

bool remove_unused(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const Descriptor file{fd};
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0 &&
         is_named(fd, path) && ::unlink(path.c_str()) == 0;
}

void remove_leftovers(const std::string& folder, const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file_name = entry->path().filename().string();
    const std::string_view written = written_name(file_name);
    if (!written.empty() && (name.empty() || written == beginning(name)))
      remove_unused(entry->path().string());
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), process_(::getpid()) {
  static std::atomic<unsigned> counter{0};
  // Only files and links are replaced, never devices such as /dev/null.
  struct stat old {};
  const bool exists = ::lstat(system_name(path_), &old) == 0;
  const bool is_file = exists && S_ISREG(old.st_mode);
  ST_CHECK(!exists || is_file || S_ISLNK(old.st_mode), IoError, "cannot write ", path_,
           ": it is not a regular file");
  const std::string name = path_.substr(path_.rfind('/') + 1);  // npos + 1 is 0
  remove_leftovers(folder_of(path_), name);
  const std::string_view folder = std::string_view(path_).substr(0, path_.size() - name.size());
  for (;;) {  // until a name is free
    temporary_ = concat(folder, beginning(name), kPart, process_, "-", counter++);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) fail_to("write", path_);
    // The lock marks a living writer. Before it was locked, another process may have removed the file.
    int failed = 0;  // also on file systems without locks
    while ((failed = ::flock(descriptor_, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (failed != 0 || is_named(descriptor_, temporary_)) break;
    ::close(descriptor_);
  }
  if (is_file) ::fchmod(descriptor_, old.st_mode & 07777);
}

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (process_ == ::getpid()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kBuffer = 1 << 16;
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() > kBuffer) {
    write_through(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  ST_INVARIANT(descriptor_ >= 0);
  while (!bytes.empty()) {
    poll_interrupt();
    const auto written = ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 26));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to("write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail_to("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_to("write", path_);
  ::close(descriptor_);
  descriptor_ = -1;
  // Flush the folder, too, so that the new name survives a power failure.
  if (const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace sentencode
