#include "io/system.h"

#include <fcntl.h>

#include <cstring>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

void fail_to(std::string_view what, const std::string& path, int code) {
  throw IoError(concat("cannot ", what, " ", path, ": ", std::strerror(code)), code);
}

const char* system_name(const std::string& path) {
  ST_CHECK(path.find('\0') == path.npos, InvalidInput, "embedded null byte in the path '",
           path.substr(0, path.find('\0')), "\\0...'");
  return path.c_str();
}

int open_for_reading(const std::string& path, struct stat& info, int flags) {
  const char* const name = system_name(path);
  int fd;
  while ((fd = ::open(name, O_RDONLY | O_CLOEXEC | flags)) < 0 && errno == EINTR) {
    poll_interrupt();  // the pipe has no writer yet
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
