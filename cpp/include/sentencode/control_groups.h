#pragma once

#include <string>
#include <vector>

namespace sentencode {

/// Folders that may contain a limit of this process: those of its control groups (of a container, a service,
/// a batch job) for `controller` ("cpu", "memory"), of version 1 and 2, and of their parents. The lowest
/// limit in any of them applies; not every folder exists. `root` contains `proc` and `sys`.
std::vector<std::string> control_groups(const std::string& controller, const std::string& root = "/");

}  // namespace sentencode
