#include "sentencode/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "sentencode/error.h"
#include "sentencode/io/mapped_file.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

TEST(Leftovers, AreRemovedUnlessLocked) {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  folder.write("file.sentencode-part-1-2", "left by the killed");
  folder.write("other.sentencode-part-1-2", "of another file");
  folder.write("file.sentencode-part-1-x", "of another program");
  AtomicFile first(path), second(path);
  EXPECT_FALSE(std::filesystem::exists(folder.path("file.sentencode-part-1-2")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("")), {}), 4);
  first.write("first");
  first.commit();
  second.write("second");
  second.commit();
  EXPECT_EQ(folder.read("file"), "second");
  remove_leftovers(folder.path(""));
  EXPECT_FALSE(std::filesystem::exists(folder.path("other.sentencode-part-1-2")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("file.sentencode-part-1-x")));
}

TEST(RemoveUnused, KeepsMappedFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "content");
  auto mapped = MappedFile::open(path);
  EXPECT_FALSE(remove_unused(path));
  mapped.reset();
  EXPECT_TRUE(remove_unused(path));
  EXPECT_FALSE(remove_unused(path)) << "it is gone";
}

TEST(AtomicFile, AppearsCompleteOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "old");
  const auto mapped = MappedFile::open(path);
  const std::string large(300'000, 'x');
  {
    AtomicFile file(path);
    file.write("new");
    file.write(large);
  }
  EXPECT_EQ(folder.read("file"), "old");
  EXPECT_EQ(folder.files(), 1U) << "the temporary file is gone";
  {
    AtomicFile file(path);
    file.write("new");
    file.write(large);
    file.write("end");
    EXPECT_EQ(folder.read("file"), "old");
    file.commit();
  }
  EXPECT_EQ(folder.read("file"), "new" + large + "end");
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(static_cast<char>(mapped->bytes()[0]), 'o') << "who has mapped the old file keeps it";
}

TEST(AtomicFile, FollowsTheUmaskAndNamesTheFailingFile) {
  const TemporaryFolder folder;
  const auto before = umask(027);
  AtomicFile file(folder.path("file"));
  umask(before);
  file.commit();
  EXPECT_EQ(std::filesystem::status(folder.path("file")).permissions(), std::filesystem::perms{0640});
  EXPECT_THROW_WITH(AtomicFile(folder.path("absent/file")), IoError, "absent/file: No such file");
}

void write_new(const std::string& path) {
  AtomicFile file(path);
  file.write("new");
  file.commit();
}

TEST(AtomicFile, ReplacesALinkButNotItsTarget) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "old");
  for (const char* target : {"file", "absent", "/dev/null"}) {
    std::filesystem::remove(folder.path("link"));
    std::filesystem::create_symlink(target, folder.path("link"));
    write_new(folder.path("link"));
    EXPECT_FALSE(std::filesystem::is_symlink(folder.path("link")));
    EXPECT_EQ(folder.read("link"), "new");
  }
  EXPECT_EQ(folder.read("file"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder.path("absent")));
}

TEST(AtomicFile, FollowsALinkNamedByTheUserAndKeepsPermissions) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "old");
  std::filesystem::permissions(path, std::filesystem::perms{0600});
  std::filesystem::create_symlink("file", folder.path("link"));
  write_new(link_target(folder.path("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(folder.read("file"), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
  std::filesystem::create_symlink("absent", folder.path("dangling"));
  EXPECT_THROW_WITH(link_target(folder.path("dangling")), IoError, "cannot follow the symbolic link");
  EXPECT_EQ(link_target(folder.path("none")), folder.path("none"));
  EXPECT_THROW_WITH(AtomicFile("/dev/null"), IoError, "/dev/null: it is not a regular file");
  EXPECT_THROW_WITH(AtomicFile(std::string("a\0b", 3)), InvalidInput, "embedded null byte");
}

}  // namespace
}  // namespace sentencode
