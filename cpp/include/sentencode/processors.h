#pragma once

#include <string>

namespace sentencode {

/// Number of processors that this process may use: the smaller of its affinity and its container's CPU quota,
/// rounded up (cgroups of version 1 and 2: Docker, Kubernetes, Slurm). `root` contains `proc` and `sys`.
int processors(const std::string& root = "/");

/// The CPU quota alone, in processors; infinity without a limit.
double processor_quota(const std::string& root = "/");

}  // namespace sentencode
