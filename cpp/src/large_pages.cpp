#include "large_pages.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace sentencode {

void* allocate_large(std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64, kLargePage = std::size_t{2} << 20;
  const std::size_t in_pages = bytes / kLargePage * kLargePage;  // the rest would waste most of a page
  void* memory = nullptr;
  if (::posix_memalign(&memory, in_pages > 0 ? kLargePage : kCacheLine, bytes) != 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (in_pages > 0) ::madvise(memory, in_pages, MADV_HUGEPAGE);  // may fail
#endif
  return memory;
}

}  // namespace sentencode
