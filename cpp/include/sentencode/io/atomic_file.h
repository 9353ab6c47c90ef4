#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// Writes a file that is there whole or not at all: a temporary sibling, flushed to disk, then renamed. So
/// whoever has the old file mapped keeps it as it was. It keeps its permissions. A symbolic link is replaced
/// and never followed; where the user chose the name, `link_target` follows it. What writers of the same file
/// left when they were killed is removed: nobody holds the lock on it.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile() { discard(); }  // an uncommitted file leaves nothing behind
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();
  void discard();                                 // unless it was committed
  int descriptor() const { return descriptor_; }  // for who writes by other means, past our buffer

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);

  std::string path_, temporary_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// The file that a name chosen by the user leads to: that of a symbolic link, or the name itself.
std::string link_target(const std::string& path);

/// Removes a file unless a process has it mapped, or writes it; whether it did.
bool remove_unused(const std::string& path);

/// Removes what killed writers of a folder's files left there; of the file `name` alone, unless it is empty.
void remove_leftovers(const std::string& folder, const std::string& name = {});

}  // namespace sentencode
