#pragma once

#include <cstddef>
#include <cstdlib>

namespace sentencode {

/// Allocates memory, to be freed by std::free. From 2 MiB on it has large pages, which save page faults and
/// TLB misses.
void* allocate_large(std::size_t bytes);

/// An allocator of std::vector that uses allocate_large.
template <typename T>
struct LargePages {
  using value_type = T;

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const LargePages&) const = default;
};

}  // namespace sentencode
