#pragma once

#include <cstddef>
#include <cstdlib>

namespace sentencode {

/// Memory for std::free, with large pages if it is large, which saves page faults and TLB misses.
void* allocate_large(std::size_t bytes);

/// A container's allocator of such memory.
template <typename T>
struct LargePages {
  using value_type = T;

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const LargePages&) const = default;
};

}  // namespace sentencode
