#include "sentencode/training/example_builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "sentencode/training/example_key.h"
#include "temporary_folder.h"
#include "training/examples.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::vector<std::int32_t>>;

const auto kWords = vocabulary_of({"a", "b", "c", "d", "e"});

/// Random lines, some of them with unknown words, too long, or empty.
std::string text_of(int lines) {
  std::string text;
  std::uint32_t state = 1;
  const auto chance = [&](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  };
  for (int i = 0; i < lines; ++i) {
    if (chance(10) == 0) text += '\n';
    for (std::uint32_t t = 0; t < chance(9); ++t) text += concat(static_cast<char>('a' + chance(6)), ' ');
    text += "a\n";
  }
  return text;
}

ExampleOptions windows(std::int64_t shard) {
  ExampleOptions options{{field_of("tokens", kWords)}, {}, Labels::none, "", shard};
  options.neighbours.push_back({field_of("previous", nullptr), -2, 0});
  options.neighbours.push_back({field_of("following", nullptr), 1, 5});
  return options;
}

TEST(ExampleBuilder, DoesNotDependOnShards) {
  const TemporaryFolder folder;
  const std::string text = folder.write("text", text_of(60000));
  build_examples(folder.path("whole"), {{text}}, windows(1 << 30), "key");
  build_examples(folder.path("sharded"), {{text}}, windows(1000), "key");
  EXPECT_EQ(folder.read("whole"), folder.read("sharded"));
  EXPECT_EQ(folder.files(), 3U);  // no parts
  ExampleFile::open(folder.path("sharded"));
}

TEST(ExampleBuilder, ResumesWhereAnotherStopped) {
  const TemporaryFolder folder;
  const std::string text = folder.write("text", text_of(60000));
  build_examples(folder.path("whole"), {{text}}, windows(1000), "key");
  struct Stop {};
  for (int stops = 0; stops < 2; ++stops) {
    int batches = 0;
    EXPECT_THROW(build_examples(folder.path("file"), {{text}}, windows(1000), "key",
                                [&](std::int64_t, std::int64_t) {
                                  if (++batches == 2 + stops) throw Stop{};
                                }),
                 Stop);
    ASSERT_TRUE(fs::exists(folder.path("file.parts/000000.examples")));
  }
  const auto before = fs::last_write_time(folder.path("file.parts/000000.examples"));
  {  // complete shards are reused, unusable files are removed
    folder.write("file.parts/000009.examples", "garbage");
    const ExampleBuilder builder(folder.path("file"), windows(1000), "key");
    EXPECT_GT(builder.first_row(), 0);
    EXPECT_EQ(fs::last_write_time(folder.path("file.parts/000000.examples")), before);
    EXPECT_FALSE(fs::exists(folder.path("file.parts/000009.examples")));
  }
  build_examples(folder.path("file"), {{text}}, windows(1000), "key");
  EXPECT_EQ(folder.read("file"), folder.read("whole"));
  EXPECT_FALSE(fs::exists(folder.path("file.parts")));
}

TEST(ExampleBuilder, RebuildsDamagedShards) {
  const TemporaryFolder folder;
  const std::string text = folder.write("text", text_of(60000));
  struct Stop {};
  const auto stop_after = [&](int batches) {
    EXPECT_THROW(build_examples(folder.path("file"), {{text}}, windows(1000), "key",
                                [&](std::int64_t, std::int64_t) {
                                  if (--batches == 0) throw Stop{};
                                }),
                 Stop);
  };
  stop_after(3);
  std::string shard = folder.read("file.parts/000001.examples");
  shard[shard.size() - 3] = static_cast<char>(shard[shard.size() - 3] ^ 1);
  folder.write("file.parts/000001.examples", shard);
  const std::int64_t first = ExampleBuilder(folder.path("file"), windows(1000), "key").first_row();
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 20000);  // after shard 0, not 1
  EXPECT_EQ(ExampleBuilder(folder.path("file"), windows(1000), "other").first_row(), 0);
  build_examples(folder.path("file"), {{text}}, windows(1000), "key");
  build_examples(folder.path("whole"), {{text}}, windows(1 << 30), "key");
  EXPECT_EQ(folder.read("file"), folder.read("whole"));
}

TEST(ExampleBuilder, IsBuiltOnce) {
  const TemporaryFolder folder;
  const std::string text = folder.write("text", "a b\nc\n");
  const ExampleOptions options{{field_of("tokens", kWords)}, {}, Labels::none, "", 10};
  build_examples(folder.path("file"), {{text}}, options, "key");
  folder.write("text", "d\n");
  const auto same = build_examples(folder.path("file"), {{text}}, options, "key");
  EXPECT_EQ(ids_of(*same), (Ids{{0, 1}, {2}}));
  const auto other = build_examples(folder.path("file"), {{text}}, options, "another key");
  EXPECT_EQ(ids_of(*other), (Ids{{3}}));
  EXPECT_EQ(ids_of(*same), (Ids{{0, 1}, {2}}));  // an open file remains readable
  std::string bytes = folder.read("file");
  bytes.resize(bytes.size() - 1);
  folder.write("file", bytes);
  EXPECT_EQ(ids_of(*build_examples(folder.path("file"), {{text}}, options, "another key")), (Ids{{3}}));
}

TEST(ExampleBuilder, WaitsForOtherBuilders) {
  const TemporaryFolder folder;
  const std::string text = folder.write("text", text_of(40000));
  std::vector<std::string> files(3);
  std::vector<std::thread> threads;
  for (auto& file : files) {
    threads.emplace_back([&] {
      build_examples(folder.path("file"), {{text}}, windows(1000), "key");
      file = folder.read("file");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(files[0].empty());
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0], files[2]);
  EXPECT_FALSE(fs::exists(folder.path("file.parts")));
}

TEST(ExampleBuilder, KeyDependsOnAllThatMatters) {
  const auto key = [](const auto& change, const std::string& sources = "s") {
    ExampleOptions options{{field_of("tokens", kWords)}, {}, Labels::none, "", 10};
    change(options);
    return examples_key(options, sources);
  };
  const auto plain = key([](auto&) {});
  EXPECT_EQ(plain, key([](auto& o) { o.source = "elsewhere", o.shard_examples = 3; }));
  EXPECT_EQ(plain, key([](auto& o) { o.fields[0].vocabulary = vocabulary_of({"a", "b", "c", "d", "e"}); }));
  EXPECT_NE(plain, key([](auto&) {}, "t"));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].vocabulary = vocabulary_of({"a", "b", "c", "e", "d"}); }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].tokenizer.lowercase = true; }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].end = "</s>"; }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].begin = "</s>"; }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].min_length = 2; }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].max_length = 2; }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].too_long = TooLong::truncate; }));
  EXPECT_NE(plain, key([](auto& o) { o.fields[0].unknown_words = UnknownWords::drop_word; }));
  EXPECT_NE(plain, key([](auto& o) { o.neighbours.push_back({field_of("n", nullptr), 1, 0}); }));
  EXPECT_NE(key([](auto& o) {
              o.neighbours.push_back({field_of("n", nullptr), 1, 0});
            }),
            key([](auto& o) {
              o.neighbours.push_back({field_of("n", nullptr), 2, 0});
            }));
}

TEST(ExampleBuilder, RefusesInvalidArguments) {
  const TemporaryFolder folder;
  const auto none = vocabulary_of({});
  ExampleOptions options{{field_of("tokens", none)}, {}, Labels::none, "", 10};
  EXPECT_THROW_WITH(ExampleBuilder(folder.path("f"), options, ""), InvalidInput, "vocabulary without words");
  options.fields[0].vocabulary = kWords;
  options.fields[0].max_length = 2;
  options.fields[0].min_length = 3;
  EXPECT_THROW_WITH(ExampleBuilder(folder.path("f"), options, ""), InvalidInput,
                    "max_length must be at least");
  options.fields[0].max_length = 0;
  const std::string text = folder.write("text", "a\nb a\n");
  EXPECT_THROW_WITH(build_examples(folder.path("f"), {{text}}, options, "key"), InvalidInput,
                    "none of 2 rows can be used: 2 are too short");
  options.fields.push_back(field_of("tokens", kWords));
  EXPECT_THROW_WITH(ExampleBuilder(folder.path("f"), options, ""), InvalidInput,
                    "must have unique names; got 'tokens'");
  options.fields[1].name = "target";
  const std::string shorter = folder.write("shorter", "a\n");
  EXPECT_THROW_WITH(build_examples(folder.path("f"), {{text}, {shorter}}, options, "key"), FormatError,
                    "have more lines than those of field 'target'");
  EXPECT_EQ(folder.files(), 2U);
}

}  // namespace
}  // namespace sentencode
