// Helpers for system calls.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace sentencode {

/// Throws the IoError "cannot WHAT PATH: reason"; by default for errno.
[[noreturn]] void fail_to(std::string_view what, const std::string& path, int code = errno);

/// The path as a C string; InvalidInput if it contains a NUL.
const char* system_name(const std::string& path);

/// A file descriptor that is closed at the end of the scope.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

/// Opens a file or pipe, not a folder, and returns its fstat. Waiting for a pipe's writer can be interrupted.
int open_for_reading(const std::string& path, struct stat& info, int flags = 0);

}  // namespace sentencode
