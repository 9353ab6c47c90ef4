#pragma once

#include <cstdint>
#include <string>

namespace sentencode {

/// The bytes of memory that this process may ever have: the machine's, or less where a control group (of a
/// container, a service, a batch job) allows less. `root` is where `proc` and `sys` are.
std::int64_t memory_limit(const std::string& root = "/");

}  // namespace sentencode
