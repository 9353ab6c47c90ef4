#include "sentencode/control_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace sentencode {
namespace {

using Folders = std::vector<std::string>;

class ControlGroups : public testing::Test {
 protected:
  void list(const std::string& content) const {
    std::filesystem::create_directories(folder_.path("proc/self"));
    folder_.write("proc/self/cgroup", content);
  }
  /// Relative to sys/fs/cgroup.
  Folders folders(const std::string& controller) const {
    Folders folders = control_groups(controller, folder_.path(""));
    const std::string mount = (std::filesystem::path(folder_.path("")) / "sys/fs/cgroup").string();
    for (std::string& folder : folders) {
      EXPECT_TRUE(folder.starts_with(mount)) << folder;
      folder.erase(0, mount.size());
    }
    return folders;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ControlGroups, AreTheRootsWithoutAList) {
  EXPECT_EQ(folders("cpu"), Folders({"", "/cpu"}));
  EXPECT_EQ(folders("memory"), Folders({"", "/memory"}));
  EXPECT_FALSE(control_groups("memory").empty());
}

TEST_F(ControlGroups, OfVersion2HaveAllControllers) {
  list("0::/batch/job/step\n");
  EXPECT_EQ(folders("cpu"), Folders({"", "/cpu", "/batch", "/batch/job", "/batch/job/step"}));
  EXPECT_EQ(folders("memory"), Folders({"", "/memory", "/batch", "/batch/job", "/batch/job/step"}));
  list("0::/\n");
  EXPECT_EQ(folders("cpu"), Folders({"", "/cpu"}));
}

TEST_F(ControlGroups, OfVersion1BelongToTheController) {
  list("7:memory:/docker/1f\n4:cpu,cpuacct:/a\n3:cpuset:/b\n1:name=systemd:/c\n");
  EXPECT_EQ(folders("cpu"), Folders({"", "/cpu", "/cpu/a", "/cpu,cpuacct", "/cpu,cpuacct/a"}));
  EXPECT_EQ(folders("memory"), Folders({"", "/memory", "/memory/docker", "/memory/docker/1f"}));
  EXPECT_EQ(folders("pids"), Folders({"", "/pids"}));
}

TEST_F(ControlGroups, OfBothVersions) {
  list("5:memory:/m\n0::/unified\n");
  EXPECT_EQ(folders("memory"), Folders({"", "/memory", "/memory/m", "/unified"}));
}

TEST_F(ControlGroups, OutsideTheMountAreIgnored) {
  list("0::/../../other\n9:memory:/../x\n");
  EXPECT_EQ(folders("memory"), Folders({"", "/memory"}));
}

TEST_F(ControlGroups, IgnoreUnknownLines) {
  list("\nnonsense\n1:half\n:\n0::/good\n");
  EXPECT_EQ(folders("cpu"), Folders({"", "/cpu", "/good"}));
  list("0::/a:b\n");  // a name may contain a colon
  EXPECT_EQ(folders("cpu"), Folders({"", "/cpu", "/a:b"}));
}

}  // namespace
}  // namespace sentencode
