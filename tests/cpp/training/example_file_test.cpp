#include "sentencode/training/example_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
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

TEST(ExampleFile, RoundTrips) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  const auto file = ExampleFile::open(folder.path("file"));
  EXPECT_EQ(file->size(), 3);
  EXPECT_EQ(ids_of(*file), (std::vector<std::vector<std::int32_t>>{{1, 0}, {}, {2, 1}}));
  EXPECT_EQ(file->field("tokens").vocabulary_size, 3);
  EXPECT_EQ(file->labels(), Labels::float32);
  EXPECT_EQ(file->float_labels()[1], -1.0F);
  EXPECT_EQ(file->key(), "some key");
  EXPECT_THROW_WITH(file->field("next"), InvalidInput, "they have 'tokens'");
}

TEST(ExampleFile, RefusesInvalidFiles) {
  const TemporaryFolder folder;
  const auto refused = [&](const Parts& parts, const char* why) {
    parts.write(folder.path("file"));
    EXPECT_THROW_WITH(ExampleFile::open(folder.path("file")), FormatError, why);
  };
  refused({.ids = {1, 0, 3, 1}}, "'tokens.ids': [2] is 3; expected 0 to 2");
  refused({.ids = {1, 0, 2, -1}}, "'tokens.ids': [3] is -1; expected 0 to 2");
  refused({.offsets = {0, 2, 1, 4}}, "'tokens.offsets': [2] is 1; expected at least the previous one");
  refused({.offsets = {1, 2, 2, 4}}, "'tokens.offsets': [0] is 1; expected 0");
  refused({.offsets = {0, 2, 2, 3}}, "'tokens.offsets': [3] is 3; expected the number of ids");
  refused({.offsets = {0, 2, 4}}, "'tokens.offsets' must be I64 [4]");
  refused({.by_length = {0, 1, 2}}, "'by_length': [1] is 1");
  refused({.by_length = {1, 2, 0}}, "'by_length': [2] is 0");
  refused({.by_length = {1, 0, 0}}, "'by_length': [2] is 0");
  refused({.by_length = {1, 0, 3}}, "'by_length': [2] is 3");
  refused({.labels = {1.0F}}, "'labels' must be F32 [3]");
  refused({.config = "{}"}, "config has no list of fields");
  refused({.config = std::string(1000, '[')}, "config: its values are nested more than 512 times");
  refused({.config = R"({"fields":[{"name":"tokens"}]})"}, "size of its vocabulary");
  refused({.config = R"({"fields":[{"name":"other","vocabulary_size":3}]})"}, "has no tensor 'other.ids'");
  write_safetensors(folder.path("none"), {}, {{"format", "sentencode"}, {"kind", "SIF"}});
  EXPECT_THROW_WITH(ExampleFile::open(folder.path("none")), FormatError, "not a file of examples");
}

TEST(ExampleFile, DetectsEveryChangedByte) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  const std::string bytes = folder.read("file");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    if (damaged[i] == ' ' || bytes[i] == ' ') continue;  // JSON's white space
    folder.write("file", damaged);
    EXPECT_THROW(ExampleFile::open(folder.path("file")), FormatError) << "byte " << i;
  }
}

TEST(ExampleFile, NamesTheDamagedBlock) {
  constexpr std::int64_t kMegabyte = 1 << 20, kExamples = 600'000;
  const TemporaryFolder folder;
  Parts parts{.ids = std::vector<std::int32_t>(kExamples, 1), .offsets = {}, .by_length = {}, .labels = {}};
  for (std::int64_t i = 0; i <= kExamples; ++i) parts.offsets.push_back(i);
  for (std::uint32_t i = 0; i < kExamples; ++i) parts.by_length.push_back(i);
  parts.labels.assign(kExamples, 1.0F);
  parts.write(folder.path("file"));
  std::string bytes = folder.read("file");
  EXPECT_EQ(ExampleFile::open(folder.path("file"))->size(), kExamples);
  const std::size_t at = bytes.rfind(std::string("\0\0\x80\x3f", 4));  // the last label
  ASSERT_NE(at, std::string::npos);
  std::memset(bytes.data() + at, 0, 4);
  folder.write("file", bytes);
  const auto file = ExampleFile::open(folder.path("file"), /*verify=*/false);
  EXPECT_EQ(std::ranges::count(file->float_labels(), 0.0F), 1);
  try {
    ExampleFile::open(folder.path("file"));
    FAIL() << "the damage was not noticed";
  } catch (const FormatError& error) {
    std::int64_t begin = 0, end = 0;
    const std::string text = error.what();
    const auto place = text.find("checksum of bytes ");
    ASSERT_NE(place, std::string::npos) << text;
    ASSERT_EQ(std::sscanf(text.c_str() + place, "checksum of bytes %ld to %ld", &begin, &end), 2) << text;
    EXPECT_LE(begin, static_cast<std::int64_t>(at));
    EXPECT_LT(static_cast<std::int64_t>(at), end);
    EXPECT_LE(end - begin, kMegabyte);
    EXPECT_NE(text.find("tensor 'labels'"), std::string::npos) << text;
  }
}

/// The first version of the format had one SHA-256 and no checksum of the header.
TEST(ExampleFile, ReadsAndVerifiesFilesWithoutChecksumsOfBlocks) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  const auto file = SafeTensors::open(folder.path("file"));
  auto metadata = file->metadata();
  std::erase_if(metadata, [](const auto& item) { return item.first.starts_with("checksum."); });
  const auto pieces = safetensors_pieces(file->tensors(), metadata);
  std::string bytes = pieces.header;
  for (const auto piece : pieces.data)
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  folder.write("old", bytes);
  EXPECT_EQ(ids_of(*ExampleFile::open(folder.path("old"))), ids_of(*ExampleFile::open(folder.path("file"))));
  const auto at = bytes.find(std::string("\0\0\0\x40", 4), pieces.header.size());  // the label 2.0
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 1;
  folder.write("old", bytes);
  EXPECT_THROW_WITH(ExampleFile::open(folder.path("old")), FormatError, "is damaged");
}

TEST(ExampleFile, ReadsMemoryAndNamesItInErrors) {
  const TemporaryFolder folder;
  Parts{}.write(folder.path("file"));
  const auto bytes = std::make_shared<const std::string>(folder.read("file"));
  const auto read = [&](std::size_t size) {
    return ExampleFile::of(SafeTensors::parse(bytes, std::as_bytes(std::span(*bytes)).first(size), "a copy"));
  };
  const auto file = read(bytes->size());
  EXPECT_EQ(ids_of(*file), ids_of(*ExampleFile::open(folder.path("file"))));
  EXPECT_EQ(file->path(), "");
  EXPECT_THROW_WITH(read(bytes->size() - 1), FormatError, "a copy: ");
  Parts{.ids = {1, 0, 3, 1}}.write(folder.path("file"));
  const std::string bad = folder.read("file");
  EXPECT_THROW_WITH(ExampleFile::of(SafeTensors::parse(nullptr, std::as_bytes(std::span(bad)), "a bad one")),
                    FormatError, "a bad one: tensor 'tokens.ids': [2] is 3");
}

}  // namespace
}  // namespace sentencode
