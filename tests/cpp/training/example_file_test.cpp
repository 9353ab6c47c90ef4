#include "sentencode/training/example_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "sentencode/training/example_builder.h"
#include "temporary_folder.h"
#include "training/examples.h"

namespace sentencode {
namespace {

struct Parts {
  std::vector<std::int32_t> ids{1, 0, 2, 1};
  std::vector<std::int64_t> offsets{0, 2, 2, 4};
  std::vector<std::uint32_t> by_length{1, 0, 2};
  std::vector<float> labels{0.5F, -1.0F, 2.0F};
  std::string config = R"({"fields":[{"name":"tokens","vocabulary_size":3}]})";

  void write(const std::string& path) const {
    const auto tensor = [](const auto& values) {
      using T = std::decay_t<decltype(values[0])>;
      return StreamedTensor{dtype_of<T>(), {std::ssize(values)}, [&values](const ByteSink& sink) {
                              sink(std::as_bytes(std::span(values)));
                            }};
    };
    write_examples(path,
                   {{"tokens.ids", tensor(ids)},
                    {"tokens.offsets", tensor(offsets)},
                    {"by_length", tensor(by_length)},
                    {"labels", tensor(labels)}},
                   config, "some key");
  }
};

TEST(ExampleFile, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  const auto file = ExampleFile::open(folder.path("file"));
  EXPECT_EQ(file->size(), 3);
  EXPECT_EQ(ids_of(*file), (std::vector<std::vector<std::int32_t>>{{1, 0}, {}, {2, 1}}));
  EXPECT_EQ(file->field("tokens").vocabulary_size, 3);
  EXPECT_EQ(file->labels(), Labels::float32);
  EXPECT_EQ(file->float_labels()[1], -1.0F);
  EXPECT_EQ(file->key(), "some key");
  file->verify();
  EXPECT_THROW_WITH(file->field("next"), InvalidInput, "they have 'tokens'");
}

TEST(ExampleFile, RefusesWhatCannotBe) {
  const TemporaryFolder folder;
  const auto refused = [&](const Parts& parts, const char* why) {
    parts.write(folder.path("file"));
    EXPECT_THROW_WITH(ExampleFile::open(folder.path("file")), FormatError, why);
  };
  refused({.ids = {1, 0, 3, 1}}, "'tokens.ids': [2] is 3; expected 0 to 2");
  refused({.ids = {1, 0, 2, -1}}, "'tokens.ids': [3] is -1; expected 0 to 2");
  refused({.offsets = {0, 2, 1, 4}}, "'tokens.offsets': [2] is 1; expected no less");
  refused({.offsets = {1, 2, 2, 4}}, "'tokens.offsets': [0] is 1; expected 0");
  refused({.offsets = {0, 2, 2, 3}}, "'tokens.offsets': [3] is 3; expected the number of ids");
  refused({.offsets = {0, 2, 4}}, "'tokens.offsets' must be I64 [4]");
  refused({.by_length = {0, 1, 2}}, "'by_length': [1] is 1");
  refused({.by_length = {1, 2, 0}}, "'by_length': [2] is 0");
  refused({.by_length = {1, 0, 0}}, "'by_length': [2] is 0");
  refused({.by_length = {1, 0, 3}}, "'by_length': [2] is 3");
  refused({.labels = {1.0F}}, "'labels' must be F32 [3]");
  refused({.config = "{}"}, "config has no list of fields");
  refused({.config = R"({"fields":[{"name":"tokens"}]})"}, "size of its vocabulary");
  refused({.config = R"({"fields":[{"name":"other","vocabulary_size":3}]})"}, "has no tensor 'other.ids'");
  write_safetensors(folder.path("none"), {}, {{"format", "sentencode"}, {"kind", "SIF"}});
  EXPECT_THROW_WITH(ExampleFile::open(folder.path("none")), FormatError, "no examples of Sentencode's");
}

TEST(ExampleFile, NoticesChangedBytes) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  std::string bytes = folder.read("file");
  const float other = 3.0F;
  const auto at = bytes.find(std::string("\0\0\0\x40", 4), bytes.size() / 2);  // the label 2.0
  ASSERT_NE(at, std::string::npos);
  std::memcpy(bytes.data() + at, &other, sizeof other);
  folder.write("file", bytes);
  const auto file = ExampleFile::open(folder.path("file"));
  EXPECT_THROW_WITH(file->verify(), FormatError, "is damaged");
}

TEST(ExampleFile, ReadsMemoryAndSaysWhichItWas) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  const auto bytes = std::make_shared<const std::string>(folder.read("file"));
  const auto read = [&](std::size_t size) {
    return ExampleFile::of(SafeTensors::parse(bytes, std::as_bytes(std::span(*bytes)).first(size), "a copy"));
  };
  const auto file = read(bytes->size());
  EXPECT_EQ(ids_of(*file), ids_of(*ExampleFile::open(folder.path("file"))));
  EXPECT_EQ(file->path(), "");
  file->verify();
  EXPECT_THROW_WITH(read(bytes->size() - 1), FormatError, "a copy: ");
  Parts{.ids = {1, 0, 3, 1}}.write(folder.path("file"));
  const std::string bad = folder.read("file");
  EXPECT_THROW_WITH(ExampleFile::of(SafeTensors::parse(nullptr, std::as_bytes(std::span(bad)), "a bad one")),
                    FormatError, "a bad one: tensor 'tokens.ids': [2] is 3");
}

}  // namespace
}  // namespace sentencode
