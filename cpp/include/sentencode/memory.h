#pragma once

#include <cstdint>
#include <string>

namespace sentencode {

/// Bytes of memory that this process may use: the machine's, or the limit of a control group (of a container,
/// a service, a batch job), if that is lower. `root` contains `proc` and `sys`.
std::int64_t memory_limit(const std::string& root = "/");

}  // namespace sentencode
