#include "sentencode/io/scratch_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "io/system.h"

namespace sentencode {
namespace {

int open_nameless(const std::string& folder) {
  std::string path = folder + "/sentencode-XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(path.c_str());
  return fd;
}

}  // namespace

ScratchFile::ScratchFile(const std::string& folder, std::size_t size) {
  if (size == 0) return;
  int fd = open_nameless(folder.empty() ? "." : folder);
  const std::string other = std::filesystem::temp_directory_path().string();
  if (fd < 0) fd = open_nameless(other);
  if (fd < 0) fail_to("make a temporary file in", other);
  const Descriptor file{fd};
  // Written, so that a full disk is an error here, and not a crash where memory is accessed.
  const std::vector<std::byte> zeros(std::min<std::size_t>(size, std::size_t{1} << 20));
  for (std::size_t done = 0; done < size;) {
    const ssize_t some = ::write(fd, zeros.data(), std::min(zeros.size(), size - done));
    if (some < 0 && errno != EINTR) fail_to("write a temporary file in", folder);
    done += static_cast<std::size_t>(std::max<ssize_t>(some, 0));
  }
  void* const start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) fail_to("map a temporary file in", folder);
  bytes_ = {static_cast<std::byte*>(start), size};
}

ScratchFile::~ScratchFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace sentencode
