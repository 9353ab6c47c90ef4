#pragma once

#include <string>

namespace sentencode {

/// How many processors this process may keep busy: those that it may run on (its affinity), or its
/// container's share of their time where that is less, rounded up (cgroups of version 1 and 2: Docker,
/// Kubernetes, Slurm). `root` is where `proc` and `sys` are.
int processors(const std::string& root = "/");

/// The container's share alone, in processors; infinity where there is no limit.
double processor_quota(const std::string& root = "/");

}  // namespace sentencode
