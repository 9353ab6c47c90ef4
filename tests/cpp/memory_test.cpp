#include "sentencode/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "temporary_folder.h"

namespace sentencode {
namespace {

/// The files of a machine, as a process in a control group sees them.
class Machine {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path place = folder_.path(path);
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place) << text;
  }
  std::int64_t limit() const { return memory_limit(folder_.path("")); }

 private:
  TemporaryFolder folder_;
};

TEST(MemoryLimit, IsTheMachinesWithoutControlGroups) {
  const Machine machine;
  EXPECT_GT(machine.limit(), 1 << 20);
  EXPECT_LE(memory_limit(), machine.limit());
}

TEST(MemoryLimit, OfAContainer) {
  const Machine second;
  second.write("sys/fs/cgroup/memory.max", "3000000\n");
  second.write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(second.limit(), 3000000);
  const Machine first;
  first.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
  first.write("proc/self/cgroup",
              "11:cpu,cpuacct:/docker/abc\n9:memory:/docker/abc\n");  // not visible in the container
  EXPECT_EQ(first.limit(), 4000000);
}

TEST(MemoryLimit, OfNestedGroups) {
  const Machine second;
  second.write("proc/self/cgroup", "0::/user.slice/job.scope\n");
  second.write("sys/fs/cgroup/user.slice/memory.max", "5000000\n");
  second.write("sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  EXPECT_EQ(second.limit(), 5000000);
  second.write("sys/fs/cgroup/user.slice/job.scope/memory.max", "2000000\n");
  EXPECT_EQ(second.limit(), 2000000);
  const Machine first;
  first.write("proc/self/cgroup", "4:devices,memory:/batch/7\n3:cpu:/other\n");
  first.write("sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes", "6000000\n");
  first.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  EXPECT_EQ(first.limit(), 6000000);
}

}  // namespace
}  // namespace sentencode
