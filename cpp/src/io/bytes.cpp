#include "sentencode/io/bytes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "io/raw_input.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

[[noreturn]] void fail(std::string_view what, const std::string& path, int code = errno) {
  throw IoError(concat("cannot ", what, " ", path, ": ", std::strerror(code)), code);
}

/// Closes what it holds, whichever way a scope is left.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

int open_for_reading(const std::string& path, struct stat& info, int flags = 0) {
  int fd;
  while ((fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)) < 0 && errno == EINTR) {
    poll_interrupt();  // a pipe has no writer yet
  }
  if (fd < 0) fail("open", path);
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int code = S_ISDIR(info.st_mode) ? EISDIR : errno;
    ::close(fd);
    fail("open", path, code);
  }
  return fd;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

constexpr std::string_view kPart = ".sentencode-part-";  // then the process's number, a dash, a number

/// The name of the file that a temporary one would have become; empty where it is none.
std::string_view written_name(std::string_view name) {
  const auto part = name.rfind(kPart), dash = name.rfind('-');
  if (part == std::string_view::npos || dash < part + kPart.size()) return {};
  const bool numbers = is_number(name.substr(part + kPart.size(), dash - part - kPart.size())) &&
                       is_number(name.substr(dash + 1));
  return numbers ? name.substr(0, part) : std::string_view();
}

/// Whether a path still leads to what is open.
bool is_named(int descriptor, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  struct stat info {};
  const Descriptor file{open_for_reading(path, info, O_NONBLOCK)};  // waits for no pipe's writer
  ST_CHECK(S_ISREG(info.st_mode), IoError, "cannot map ", path,
           ": it is a pipe or a device, and only a regular file can be mapped; copy it into one first");
  std::shared_ptr<MappedFile> result(new MappedFile);
  result->path_ = path;
  result->descriptor_ = ::fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
  if (result->descriptor_ >= 0) ::flock(result->descriptor_, LOCK_SH | LOCK_NB);
  if (info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
    if (start == MAP_FAILED) fail("map", path);
    result->bytes_ = {static_cast<const std::byte*>(start), size};
  }
  return result;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
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
    const std::string found = entry->path().filename().string();
    const std::string_view written = written_name(found);
    if (!written.empty() && (name.empty() || written == name)) remove_unused(entry->path().string());
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  // The file that a link names is replaced, not the link; and only a file: /dev/null stays what it is.
  struct stat old {};
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  ST_CHECK(!exists || S_ISREG(old.st_mode), IoError, "cannot write ", path_, ": it is not a regular file");
  if (exists) {
    if (char* real = ::realpath(path_.c_str(), nullptr); real != nullptr) {
      path_ = real;
      std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): POSIX asks for it
    }
  }
  const auto slash = path_.rfind('/');
  remove_leftovers(folder_of(path_), path_.substr(slash == std::string::npos ? 0 : slash + 1));
  for (;;) {  // a name that another process has is passed over
    temporary_ = concat(path_, kPart, ::getpid(), "-", counter++);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) fail("write", path_);
    // The lock says that its writer lives. One that another took for a leftover before is gone.
    int failed = 0;  // where the file system has no locks
    while ((failed = ::flock(descriptor_, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (failed != 0 || is_named(descriptor_, temporary_)) break;
    ::close(descriptor_);
  }
  if (exists) ::fchmod(descriptor_, old.st_mode & 07777);
}

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
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
    if (written < 0) fail("write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", path_);
  ::close(descriptor_);
  descriptor_ = -1;
  // The file has its name; that the name survives a power cut is up to the folder, where the file system lets
  // it be said.
  if (const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

RawInput::RawInput(const std::string& path) : path_(path), buffer_(new std::uint8_t[kBuffer]) {
  struct stat info {};
  descriptor_ = open_for_reading(path, info);
  is_stream_ = !S_ISREG(info.st_mode);
  total_ = is_stream_ ? 0 : info.st_size;
}

RawInput::~RawInput() { ::close(descriptor_); }

void RawInput::wait() const {
  constexpr int kMilliseconds = 100;
  struct pollfd input {
    descriptor_, POLLIN, 0
  };
  for (int ready = 0; ready == 0; poll_interrupt()) {
    ready = ::poll(&input, 1, kMilliseconds);
    if (ready < 0 && errno == EINTR) ready = 0;
  }
}

std::size_t RawInput::read_some(void* out, std::size_t bytes) {
  for (;;) {
    if (is_stream_) wait();
    const auto got = ::read(descriptor_, out, std::min<std::size_t>(bytes, 1 << 26));
    if (got >= 0) {
      taken_ += got;
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) fail("read", path_);
  }
}

std::span<const std::uint8_t> RawInput::peek(std::size_t wanted) {
  ST_INVARIANT(wanted <= kBuffer);
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ > 0 && end_ - begin_ < wanted) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < wanted) {
    const std::size_t got = read_some(buffer_.get() + end_, kBuffer - end_);
    if (got == 0) break;
    end_ += got;
  }
  return {buffer_.get() + begin_, end_ - begin_};
}

std::size_t RawInput::read(std::span<char> out) {
  std::size_t done = std::min(out.size(), end_ - begin_);
  if (done > 0) std::memcpy(out.data(), buffer_.get() + begin_, done);
  begin_ += done;
  while (done < out.size()) {
    const std::size_t got = read_some(out.data() + done, out.size() - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

namespace {

class PlainReader final : public ByteReader {
 public:
  explicit PlainReader(std::unique_ptr<RawInput> input)
      : ByteReader(input->path()), input_(std::move(input)) {}
  std::size_t read(std::span<char> buffer) override { return input_->read(buffer); }
  std::int64_t position() const override { return input_->position(); }
  std::int64_t total() const override { return input_->total(); }

 private:
  std::unique_ptr<RawInput> input_;
};

}  // namespace

std::unique_ptr<ByteReader> ByteReader::open(const std::string& path, const std::string& member) {
  auto input = std::make_unique<RawInput>(path);
  const auto head = input->peek(6);
  const auto starts = [&](std::initializer_list<std::uint8_t> magic) {
    return head.size() >= magic.size() && std::equal(magic.begin(), magic.end(), head.begin());
  };
  if (starts({'P', 'K', 3, 4}) || starts({'P', 'K', 5, 6})) return make_zip_reader(path, member);
  ST_CHECK(member.empty(), InvalidInput, path, ": is no zip archive, and has no member '", member, "'");
  if (starts({0x1f, 0x8b})) return make_gzip_reader(std::move(input));
  if (starts({0xfd, '7', 'z', 'X', 'Z', 0})) return make_xz_reader(std::move(input));
  if (starts({0x28, 0xb5, 0x2f, 0xfd})) return make_zstd_reader(std::move(input));
  return std::make_unique<PlainReader>(std::move(input));
}

}  // namespace sentencode
