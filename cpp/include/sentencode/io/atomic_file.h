#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// Writes a file atomically: a temporary sibling is flushed to disk, then renamed. Processes that have the
/// old file mapped keep its content. Permissions are kept. Symbolic links are replaced, not followed; for
/// names chosen by the user, `link_target` follows them. Temporary files of killed writers of the same file
/// are removed; living writers hold a lock. A forked process does not remove the file of its parent.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile() { discard(); }  // removes a file that was not committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();
  void discard();                                 // does nothing after commit
  int descriptor() const { return descriptor_; }  // for unbuffered writes

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);

  std::string path_, temporary_;
  int descriptor_ = -1;
  pid_t process_ = 0;  // that writes
  std::vector<std::byte> buffer_;
};

/// The target of a symbolic link; any other path is returned unchanged.
std::string link_target(const std::string& path);

/// Removes a file unless a process has it mapped or writes it. Returns whether it was removed.
bool remove_unused(const std::string& path);

/// Removes temporary files of killed writers from a folder; only those of the file `name`, unless it is
/// empty.
void remove_leftovers(const std::string& folder, const std::string& name = {});

}  // namespace sentencode
