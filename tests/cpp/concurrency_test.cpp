// Concurrent use. `make test-tsan` runs this under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "linear/example.h"
#include "sentencode/encoder.h"
#include "sentencode/linear/laes.h"
#include "sentencode/linear/sif.h"
#include "sentencode/linear/usif.h"
#include "sentencode/parallel.h"
#include "sentencode/text/subword_tokenizer.h"
#include "sentencode/training/batch_loader.h"
#include "sentencode/training/example_builder.h"
#include "temporary_folder.h"
#include "training/examples.h"

namespace sentencode {
namespace {

/// Calls each function repeatedly on a separate thread, until the first one was called `times` times.
void together(int times, const std::vector<std::function<void()>>& functions) {
  std::atomic<bool> done{false};
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < functions.size(); ++i) {
    threads.emplace_back([&, i] {
      do functions[i]();
      while (!done);
    });
  }
  for (int i = 0; i < times; ++i) functions[0]();
  done = true;
}

class Concurrency : public testing::TestWithParam<const char*> {
 protected:
  Concurrency() { set_num_threads(2); }
  ~Concurrency() override {
    set_interrupt_check(nullptr);
    set_num_threads(threads_);
  }

  std::unique_ptr<LinearEncoder> made() const {
    const std::string kind = GetParam();
    if (kind == "SIF") return std::make_unique<Sif>(example_.words(), 9);
    if (kind == "USIF") return std::make_unique<Usif>(example_.words(), 2, Usif::Normalize::dimension);
    return std::make_unique<Laes>(example_.words(), LaesOptions{.hidden = 5});
  }

  Example example_{12};
  const Texts first_{example_.ids(300, 1, 9)}, second_{example_.ids(300, 1, 9)};
  const int threads_ = num_threads();
};

INSTANTIATE_TEST_SUITE_P(Kinds, Concurrency, testing::Values("SIF", "USIF", "LAES"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(Concurrency, EncodesAndReadsWhileAnotherThreadFits) {
  const auto encoder = made();
  encoder->partial_fit(first_.sentences());
  encoder->solve();
  const TemporaryFolder folder;
  together(15, {[&] {
                  encoder->partial_fit(second_.sentences());
                  encoder->solve();
                },
                [&] {
                  const Matrix rows = static_cast<const Encoder&>(*encoder).encode(first_.sentences());
                  EXPECT_TRUE(rows.allFinite());
                },
                [&] {
                  encoder->set_params("{}");
                  EXPECT_EQ(encoder->params(), "{}");
                  EXPECT_TRUE(encoder->fitted());
                  EXPECT_FALSE(encoder->to_bytes(true).empty());
                },
                [&] {
                  if (const auto* sif = dynamic_cast<const CommonDirections*>(encoder.get())) {
                    EXPECT_EQ(sif->directions().rows(), sif->components());
                    EXPECT_GE(sif->statistics()->count(), 300);
                  }
                  encoder->words().vectors()->fingerprint();
                }});
}

// Python's hook waits for the GIL, whose holder may be waiting for the encoder.
TEST_P(Concurrency, CanBeReadDuringInterruptChecks) {
  const auto encoder = made();
  encoder->partial_fit(first_.sentences());
  encoder->solve();
  static const LinearEncoder* seen;
  static int polls;
  seen = encoder.get();
  polls = 0;
  set_interrupt_check([] {
    ++polls;
    auto look = std::async(std::launch::async, [] {
      if (const auto* directions = dynamic_cast<const CommonDirections*>(seen)) directions->statistics();
      return seen->fitted() && !seen->to_bytes(true).empty();
    });
    const bool free = look.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(free);
    return !free;  // interrupts, so that the other thread can continue
  });
  encoder->partial_fit(second_.sentences());
  const int before = polls;
  encoder->solve();
  EXPECT_GT(polls, before);
  static_cast<const Encoder&>(*encoder).encode(first_.sentences());
}

TEST_P(Concurrency, InterruptsLeaveStatisticsUnchanged) {
  const bool laes = std::string(GetParam()) == "LAES";
  // Several blocks; for LAES more words than may wait, so that the next call first adds them to the sums.
  const Texts many(Example(12).ids(9000, laes ? 30 : 1, laes ? 40 : 3));
  // Only one thread polls; with two, the other one may do nearly all of the work.
  for (const int threads : {2, 1}) {
    set_num_threads(threads);
    const auto encoder = made();
    encoder->partial_fit(first_.sentences());
    encoder->solve();
    if (laes) encoder->partial_fit(many.sentences());
    const std::string before = encoder->to_bytes(true);
    static std::atomic<int> left;
    for (int polls = 1;; polls += laes ? 16 : 1) {
      left = polls;
      set_interrupt_check([] { return --left == 0; });
      try {
        encoder->partial_fit(many.sentences());
        EXPECT_GT(polls, threads == 1 ? 3 : 1);
        break;  // there were fewer polls
      } catch (const Interrupted&) {
        EXPECT_TRUE(encoder->to_bytes(true) == before) << polls;
      }
    }
    set_interrupt_check(nullptr);
  }
}

TEST(ConcurrentBatches, AreReturnedOnce) {
  const auto make = [](BatchLoader::Position at) {
    Batch batch;
    batch.epoch = at.epoch;
    batch.step = at.step;
    return batch;
  };
  BatchLoader loader(make, 1000, {}, 2, 4);
  std::vector<std::set<std::int64_t>> taken(3);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : taken) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) mine.insert(loader.next().step);
      });
    }
  }
  std::set<std::int64_t> all;
  for (const auto& mine : taken) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 300U);
  EXPECT_EQ(*all.rbegin(), 299);
  EXPECT_EQ(loader.position().step, 300);
}

TEST(ConcurrentBatches, OfSortedBuffersEqualThoseOfOneThread) {
  const TemporaryFolder folder;
  ExampleOptions options;
  options.fields = {field_of("tokens", vocabulary_of({"a", "b"}))};
  ExampleBuilder builder(folder.path("file"), options, "");
  const std::vector<std::string_view> texts{"a", "a b", "b", "b b a", "a a", "b a b a", "a b a"};
  ExampleBuilder::Rows rows;
  rows.fields = {{.pieces = texts, .offsets = {}}};
  builder.add(rows);
  const Batcher batcher(builder.finish(),
                        {.mode = BatchMode::sorted_buffer, .batch_size = 2, .buffer_batches = 2});
  std::vector<std::vector<std::int64_t>> expected;
  for (std::int64_t step = 0; step < batcher.steps(); ++step) expected.push_back(batcher.numbers(1, step));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (std::int64_t k = 0; k < 200; ++k) {
        const std::int64_t step = k % batcher.steps();
        EXPECT_EQ(batcher.numbers(1, step), expected[static_cast<std::size_t>(step)]);
      }
    });
  }
}

TEST(ConcurrentFiles, AreReadWhileKindsAreRegistered) {
  const Example example(4);
  const TemporaryFolder folder;
  Sif sif(example.words(), 1);
  const Texts texts{"w0 w1", "w2", "w1 w3"};
  sif.partial_fit(texts.sentences());
  sif.solve();
  sif.save(folder.path("model"));
  const auto read = [&] { EXPECT_EQ(load_encoder(folder.path("model"))->kind(), "SIF"); };
  together(20, {read, read, [&] { register_encoder("OTHER", &load_encoder); }});
}

TEST(Concurrency, ThreadsFillTheWordCacheOfATokenizer) {
  const std::string json = R"({"version": "1.0", "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3}, "merges": ["a b", "ab ab"]}})";
  std::vector<std::string> words;  // all of one to ten letters
  std::vector<std::vector<std::int32_t>> expected;
  for (unsigned length = 1; length <= 10; ++length) {
    for (unsigned bits = 0; bits < 1U << length; ++bits) {
      std::string& word = words.emplace_back();
      for (unsigned i = 0; i < length; ++i) word += (bits >> i & 1U) != 0 ? 'b' : 'a';
      SubwordTokenizer::Scratch scratch;
      static const auto alone = SubwordTokenizer::from_json(json);
      alone->encode(word, scratch, expected.emplace_back());
    }
  }
  for (int round = 0; round < 5; ++round) {
    const auto shared = SubwordTokenizer::from_json(json);
    const auto encode_all = [&] {
      SubwordTokenizer::Scratch scratch;
      std::vector<std::int32_t> ids;
      for (std::size_t i = 0; i < words.size(); ++i) {
        ids.clear();
        shared->encode(words[i], scratch, ids);
        ASSERT_EQ(ids, expected[i]) << words[i];
      }
    };
    together(2, {encode_all, encode_all, encode_all});
  }
}

}  // namespace
}  // namespace sentencode
