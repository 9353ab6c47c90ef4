#include "sentencode/training/batcher.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "sentencode/training/batch_loader.h"
#include "temporary_folder.h"
#include "training/examples.h"

namespace sentencode {
namespace {

constexpr BatchMode kModes[] = {BatchMode::plain, BatchMode::equal_length, BatchMode::buckets,
                                BatchMode::sorted_buffer, BatchMode::token_budget};

class BatcherTest : public testing::Test {
 protected:
  /// `n` examples of varying lengths; the first token of example i has the id i.
  std::shared_ptr<const ExampleFile> examples(int n) {
    std::string text;
    for (int i = 0; i < n; ++i) {
      for (int t = 0; t < 1 + i * i % 23; ++t) text += static_cast<char>('a' + i % 5), text += ' ';
      text += '\n';
    }
    const auto words = vocabulary_of({"a", "b", "c", "d", "e"});
    const ExampleOptions options{{field_of("tokens", words)}, {}, Labels::none, "", 1 << 20};
    return build_examples(folder_.path("file"), {{folder_.write("text", text)}}, options, std::to_string(n));
  }
  static BatcherOptions options(BatchMode mode, std::int64_t size) {
    BatcherOptions result;
    result.mode = mode;
    result.batch_size = size;
    result.buffer_batches = 5;
    if (mode == BatchMode::buckets) result.bounds = {4, 9, 15};
    if (mode == BatchMode::token_budget) result.max_tokens = 60;
    return result;
  }

  TemporaryFolder folder_;
};

TEST_F(BatcherTest, EveryExampleIsInOneBatchOfEveryEpoch) {
  for (const int n : {1, 7, 64, 1003}) {
    const auto file = examples(n);
    for (const BatchMode mode : kModes) {
      for (const bool shuffle : {false, true}) {
        auto chosen = options(mode, 8);
        chosen.shuffle = shuffle;
        const Batcher batcher(file, chosen);
        for (const std::int64_t epoch : {0, 3}) {
          std::multiset<std::int64_t> met;
          for (std::int64_t step = 0; step < batcher.steps(); ++step) {
            const auto numbers = batcher.numbers(epoch, step);
            EXPECT_FALSE(numbers.empty());
            EXPECT_LE(numbers.size(), 8U);
            met.insert(numbers.begin(), numbers.end());
          }
          std::multiset<std::int64_t> all;
          for (int i = 0; i < n; ++i) all.insert(i);
          EXPECT_EQ(met, all) << name_of(mode) << ", " << n << " examples, shuffle " << shuffle;
        }
      }
    }
  }
}

TEST_F(BatcherTest, PartsHaveTheirExamplesAlone) {
  const auto file = examples(200);
  for (const BatchMode mode : kModes) {
    for (const bool shuffle : {false, true}) {
      std::multiset<std::int64_t> met;
      for (const unsigned rest : {0, 1}) {
        auto chosen = options(mode, 8);
        chosen.shuffle = shuffle;
        for (unsigned i = 0; i < 200; ++i) {
          if (((i * i % 7) % 2) == rest) chosen.numbers.push_back(i);
        }
        const Batcher batcher(file, chosen);
        EXPECT_EQ(batcher.part().size(), 64U);
        for (std::int64_t step = 0; step < batcher.steps(); ++step) {
          const auto numbers = batcher.numbers(1, step);
          for (const std::int64_t number : numbers) EXPECT_EQ(number * number % 7 % 2, rest);
          met.insert(numbers.begin(), numbers.end());
          if (mode != BatchMode::equal_length) continue;
          for (const std::int64_t number : numbers)
            EXPECT_EQ(file->fields()[0].length(number), file->fields()[0].length(numbers[0]));
        }
      }
      std::multiset<std::int64_t> all;
      for (int i = 0; i < 200; ++i) all.insert(i);
      EXPECT_EQ(met, all) << name_of(mode) << ", shuffle " << shuffle;
    }
  }
  auto wrong = options(BatchMode::plain, 8);
  for (const std::vector<std::uint32_t>& numbers : {std::vector{3U, 3U}, {200U}}) {
    wrong.numbers = numbers;
    EXPECT_THROW(Batcher(file, wrong), InvalidInput);
  }
}

TEST_F(BatcherTest, LengthsOfSeveralFields) {
  std::string left, right;
  for (int i = 0; i < 203; ++i) {
    for (int t = 0; t < 1 + i * i % 7; ++t) left += "a ";
    for (int t = 0; t < 1 + i * 5 % 6; ++t) right += "b ";
    left += '\n', right += '\n';
  }
  const auto words = vocabulary_of({"a", "b"});
  const ExampleOptions fields{
      {field_of("left", words), field_of("right", words)}, {}, Labels::none, "", 1 << 20};
  const std::string path = folder_.path("pairs");
  const auto file =
      build_examples(path, {{folder_.write("left", left)}, {folder_.write("right", right)}}, fields, "");
  for (const BatchMode mode : {BatchMode::equal_length, BatchMode::buckets, BatchMode::token_budget}) {
    auto chosen = options(mode, 8);
    chosen.length_fields = {"right", "left"};
    const Batcher batcher(file, chosen);
    std::set<std::int64_t> met;
    for (std::int64_t step = 0; step < batcher.steps(); ++step) {
      std::int64_t widths = 0;
      for (const BatchField& field : batcher.batch(1, step).fields) {
        widths += field.width;
        const auto [least, most] = std::ranges::minmax(field.lengths);
        EXPECT_TRUE(mode != BatchMode::equal_length || least == most);
        EXPECT_TRUE(mode != BatchMode::buckets || (least <= 4) == (most <= 4));
      }
      const auto numbers = batcher.numbers(1, step);
      EXPECT_TRUE(mode != BatchMode::token_budget || std::ssize(numbers) * widths <= 60);
      met.insert(numbers.begin(), numbers.end());
    }
    EXPECT_EQ(met.size(), 203U) << name_of(mode);
  }
}

TEST_F(BatcherTest, LoaderEqualsTheBatcher) {
  const auto file = examples(203);
  for (const BatchMode mode : kModes) {
    const auto batcher = std::make_shared<const Batcher>(file, options(mode, 8));
    BatchLoader loader(batcher, {2, batcher->steps() - 3}, 3, 4);
    for (std::int64_t i = 0, step = batcher->steps() - 3, epoch = 2; i < 2 * batcher->steps(); ++i) {
      EXPECT_EQ(loader.position(), (BatchLoader::Position{epoch, step}));
      const Batch made = loader.next(), expected = batcher->batch(epoch, step);
      EXPECT_EQ(made.epoch, epoch);
      EXPECT_EQ(made.step, step);
      EXPECT_EQ(made.numbers, expected.numbers);
      EXPECT_EQ(made.fields[0].ids, expected.fields[0].ids);
      if (++step == batcher->steps()) step = 0, ++epoch;
    }
  }
}

TEST_F(BatcherTest, LoaderStopsAtAnyTime) {
  const auto batcher = std::make_shared<const Batcher>(examples(203), options(BatchMode::plain, 8));
  for (int i = 0; i < 200; ++i) {
    BatchLoader loader(batcher, {0, 0}, 4, 1 + i % 7);
    for (int k = 0; k < i % 5; ++k) loader.next();
  }
}

TEST_F(BatcherTest, LoaderThrowsAtTheFailingBatch) {
  const auto make = [](BatchLoader::Position at) {
    if (at.epoch == 1 && at.step == 2) throw FormatError("no such batch");
    Batch batch;
    batch.epoch = at.epoch;
    batch.step = at.step;
    return batch;
  };
  for (const int threads : {1, 4}) {
    BatchLoader loader(make, 3, {0, 1}, threads, 6);
    for (int i = 1; i < 5; ++i) EXPECT_EQ(loader.next().step, i % 3);
    for (int again = 0; again < 3; ++again) {
      EXPECT_THROW_WITH(loader.next(), FormatError, "no such batch");
      EXPECT_EQ(loader.position(), (BatchLoader::Position{1, 2}));
    }
  }
}

TEST_F(BatcherTest, LoaderLimitsPrefetchedBatches) {
  std::atomic<int> made{0};
  BatchLoader loader([&](BatchLoader::Position) { return ++made, Batch{}; }, 100, {0, 0}, 2, 3);
  for (int taken = 0; taken < 5; ++taken) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LE(made, 3 + taken);
    loader.next();
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST_F(BatcherTest, ForkedLoaderIsRefusedAndHarmless) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "its allocator may be locked by a thread that the forked child has not";
#endif
  const auto batcher = std::make_shared<const Batcher>(examples(203), options(BatchMode::plain, 8));
  auto loader = std::make_unique<BatchLoader>(batcher, BatchLoader::Position{0, 0}, 2, 4);
  loader->next();
  const pid_t child = ::fork();
  if (child == 0) {
    bool refused = false;
    try {
      loader->next();
    } catch (const Unsupported&) {
      refused = true;
    }
    loader.reset();
    BatchLoader new_loader(batcher, {0, 1});
    ::_exit(refused && new_loader.next().step == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(loader->next().step, 1);
}
#endif

TEST_F(BatcherTest, RefusesInvalidArguments) {
  const auto file = examples(20);
  const auto refused = [&](const auto& change, const char* why) {
    BatcherOptions chosen = options(BatchMode::plain, 8);
    change(chosen);
    EXPECT_THROW_WITH(Batcher(file, chosen), InvalidInput, why);
  };
  refused([](auto& o) { o.batch_size = 0; }, "batch_size must be at least 1");
  refused([](auto& o) { o.rank = 2, o.world = 2; }, "got rank 2 of world 2");
  refused([](auto& o) { o.mode = BatchMode::buckets; }, "needs bounds");
  refused([](auto& o) { o.bounds = {3}; }, "bounds are for the mode buckets");
  refused([](auto& o) { o.mode = BatchMode::buckets, o.bounds = {3, 3}; }, "bounds must be ascending");
  refused([](auto& o) { o.max_tokens = 9; }, "max_tokens is for the mode token_budget");
  refused([](auto& o) { o.mode = BatchMode::token_budget, o.max_tokens = 9; },
          "the length of the longest example");
  refused([](auto& o) { o.length_fields = {"other"}; }, "no field 'other'; they have 'tokens'");
  refused([](auto& o) { o.length_fields = {"tokens", "tokens"}; }, "names 'tokens' twice");
  refused([](auto& o) { o.batch_size = 21, o.drop_short = true; }, "no batch can be made of 20 examples");
  const auto batcher = std::make_shared<const Batcher>(file, options(BatchMode::plain, 8));
  EXPECT_THROW_WITH(batcher->batch(0, 3), InvalidInput, "step must be from 0 to 2, got 3");
  EXPECT_THROW_WITH(batcher->batch(-1, 0), InvalidInput, "epoch must not be negative");
  EXPECT_THROW_WITH(BatchLoader(batcher, {0, 3}), InvalidInput, "position");
}

}  // namespace
}  // namespace sentencode
