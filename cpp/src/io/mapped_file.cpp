#include "sentencode/io/mapped_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "io/system.h"
#include "sentencode/error.h"

namespace sentencode {

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  struct stat info {};
  const Descriptor file{open_for_reading(path, info, O_NONBLOCK)};  // does not wait for the writer of a pipe
  ST_CHECK(S_ISREG(info.st_mode), IoError, "cannot map ", path,
           ": it is a pipe or a device, and only a regular file can be mapped; copy it into one first");
  std::shared_ptr<MappedFile> result(new MappedFile);
  result->path_ = path;
  result->descriptor_ = ::fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
  if (result->descriptor_ >= 0) ::flock(result->descriptor_, LOCK_SH | LOCK_NB);
  if (info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
    if (start == MAP_FAILED) fail_to("map", path);
    result->bytes_ = {static_cast<const std::byte*>(start), size};
  }
  return result;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace sentencode
