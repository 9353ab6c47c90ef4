#include "large_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace sentencode {

void* allocate_large(std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64, kLargePage = std::size_t{2} << 20;
  const std::size_t unit = bytes < kLargePage ? kCacheLine : kLargePage;
  const std::size_t size = (std::max<std::size_t>(1, bytes) + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, size);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (unit == kLargePage) ::madvise(memory, size, MADV_HUGEPAGE);  // may fail
#endif
  return memory;
}

}  // namespace sentencode
