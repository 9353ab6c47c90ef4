#include "sentencode/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace sentencode {
namespace {

class Processors : public testing::Test {
 protected:
  void file(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(root_.path(name)).parent_path());
    root_.write(name, content);
  }
  double quota() const { return processor_quota(root_.path("")); }
  int count() const { return processors(root_.path("")); }

  static int all() {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    return CPU_COUNT(&allowed);
  }

  TemporaryFolder root_;
};

TEST_F(Processors, AreThoseOfTheProcessWithoutAQuota) {
  EXPECT_EQ(count(), all());
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(quota()));
  EXPECT_EQ(count(), all());
}

TEST_F(Processors, OfAContainerAreItsQuotaRoundedUp) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 1.5);
  EXPECT_EQ(count(), std::min(2, all()));
  file("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(count(), 1);
}

TEST_F(Processors, AreLimitedByParentGroups) {
  file("proc/self/cgroup", "0::/batch/job/step\n");
  file("sys/fs/cgroup/batch/cpu.max", "100000 100000\n");
  file("sys/fs/cgroup/batch/job/step/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 1);
  file("sys/fs/cgroup/batch/job/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 0.5);
}

TEST_F(Processors, AreReadFromVersion1) {
  file("proc/self/cgroup", "7:memory:/docker/1f\n4:cpu,cpuacct:/docker/1f\n2:cpuset:/docker/1f\n");
  file("sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_quota_us", "-1\n");
  file("sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(quota()));
  file("sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_quota_us", "25000\n");
  EXPECT_DOUBLE_EQ(quota(), 0.25);
  // In a container, the path of the group is the host's, and the group itself is mounted.
  file("proc/self/cgroup", "4:cpu,cpuacct:/elsewhere\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota(), 3);
}

}  // namespace
}  // namespace sentencode
