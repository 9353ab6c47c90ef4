#include "sentencode/memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sentencode/control_groups.h"

namespace sentencode {

std::int64_t memory_limit(const std::string& root) {
  std::int64_t limit = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  for (const std::filesystem::path folder : control_groups("memory", root)) {
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {  // of version 2, of version 1
      std::ifstream file(folder / name);
      std::int64_t bytes = 0;  // no limit if the file is missing or says "max"
      if (file >> bytes && bytes >= 0) limit = std::min(limit, bytes);
    }
  }
  return limit;
}

}  // namespace sentencode
