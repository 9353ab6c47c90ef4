#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace sentencode {

/// A temporary folder, removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sentencode-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, std::string_view content) const {
    std::filesystem::remove(path(name));  // ext4 flushes truncated files to disk, which takes milliseconds
    std::ofstream(path(name), std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return path(name);
  }
  std::string read(std::string_view name) const {
    std::ostringstream content;
    content << std::ifstream(path(name), std::ios::binary).rdbuf();
    return std::move(content).str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

/// EXPECT_THROW that also checks the message.
#define EXPECT_THROW_WITH(statement, ErrorClass, part)                                  \
  try {                                                                                 \
    statement;                                                                          \
    ADD_FAILURE() << "nothing was thrown";                                              \
  } catch (const ErrorClass& error) {                                                   \
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what(); \
  }

}  // namespace sentencode
