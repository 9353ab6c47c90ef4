#include "sentencode/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "sentencode/control_groups.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double ratio(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kUnlimited; }

/// "max 100000" or "150000 100000".
double quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period ? ratio(quota, period) : kUnlimited;
}

/// Quota and period are in two files; a quota of -1 is no limit.
double quota_v1(const fs::path& group) {
  std::ifstream first(group / "cpu.cfs_quota_us"), second(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  return first >> quota && second >> period ? ratio(quota, period) : kUnlimited;
}

int affinity() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

double processor_quota(const std::string& root) {
  double quota = kUnlimited;
  for (const fs::path folder : control_groups("cpu", root)) {
    quota = std::min({quota, quota_v2(folder), quota_v1(folder)});
  }
  return quota;
}

int processors(const std::string& root) {
  const double quota = std::ceil(processor_quota(root));
  const int all = affinity();
  return quota < all ? std::max(1, static_cast<int>(quota)) : all;
}

}  // namespace sentencode
