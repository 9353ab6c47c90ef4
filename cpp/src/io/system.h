// How the files of this room ask the system.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace sentencode {

/// "cannot WHAT PATH: why", an IoError by the number of the system's last one.
[[noreturn]] void fail_to(std::string_view what, const std::string& path, int code = errno);

/// The name as the system takes it; InvalidInput where it would end at a NUL within.
const char* system_name(const std::string& path);

/// Closes what it holds, whichever way a scope is left.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

/// A file that is no folder, and what the system says of it. Waiting for a pipe's writer can be interrupted.
int open_for_reading(const std::string& path, struct stat& info, int flags = 0);

}  // namespace sentencode
