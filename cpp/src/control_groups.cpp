#include "sentencode/control_groups.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sentencode/error.h"

namespace sentencode {

namespace fs = std::filesystem;

std::vector<std::string> control_groups(const std::string& controller, const std::string& root) {
  std::vector<std::string> folders;
  const auto add = [&folders](const fs::path& top, const std::string& group) {
    const auto add_one = [&folders](const fs::path& folder) {
      if (std::ranges::find(folders, folder.string()) == folders.end()) folders.push_back(folder.string());
    };
    fs::path folder = top;
    add_one(folder);
    if (group.find("..") != std::string::npos) return;  // it is not below what is mounted
    for (const auto& part : fs::path(group).relative_path()) add_one(folder /= part);
  };
  // In a container, its groups have the host's names in the list, and are themselves what is mounted. The
  // list itself may be missing.
  const fs::path mount = fs::path(root) / "sys/fs/cgroup";
  add(mount, "");
  add(mount / controller, "");
  std::ifstream list(fs::path(root) / "proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {  // 4:cpu,cpuacct:/docker/1f0c, or 0::/user.slice
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {  // version 2, where every controller is in one tree
      add(mount, group);
    } else if (concat(',', controllers, ',').find(concat(',', controller, ',')) != std::string::npos) {
      add(mount / controller, group);  // one of these two is a link to the other
      add(mount / controllers, group);
    }
  }
  return folders;
}

}  // namespace sentencode
