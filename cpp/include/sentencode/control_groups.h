#pragma once

#include <string>
#include <vector>

namespace sentencode {

/// The folders that may hold a limit of this process: those of its control groups (of a container, a service,
/// a batch job) that `controller` ("cpu", "memory") belongs to, of version 1 and 2, and of the groups around
/// them. Whoever asks looks for files in each, and takes the least; not every folder need be there. `root` is
/// where `proc` and `sys` are.
std::vector<std::string> control_groups(const std::string& controller, const std::string& root = "/");

}  // namespace sentencode
