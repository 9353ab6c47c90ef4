#include "sentencode/io/mapped_file.h"

#include <gtest/gtest.h>

#include <string>

#include "sentencode/error.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

TEST(MappedFile, HasTheBytesOfTheFile) {
  const TemporaryFolder folder;
  const auto file = MappedFile::open(folder.write("file", "12345"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()), "12345");
  EXPECT_TRUE(MappedFile::open(folder.write("empty", ""))->bytes().empty());
  EXPECT_THROW_WITH(MappedFile::open(folder.path("absent")), IoError, "absent");
}

}  // namespace
}  // namespace sentencode
