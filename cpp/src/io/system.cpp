#include "io/system.h"

#include <fcntl.h>

#include <cstring>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

void fail_to(std::string_view what, const std::string& path, int code) {
  throw IoError(concat("cannot ", what, " ", path, ": ", std::strerror(code)), code);
}

int open_for_reading(const std::string& path, struct stat& info, int flags) {
  int fd;
  while ((fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)) < 0 && errno == EINTR) {
    poll_interrupt();  // a pipe has no writer yet
  }
  if (fd < 0) fail_to("open", path);
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int code = S_ISDIR(info.st_mode) ? EISDIR : errno;
    ::close(fd);
    fail_to("open", path, code);
  }
  return fd;
}

}  // namespace sentencode
