#include "sentencode/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "one_blas_thread.h"
#include "sentencode/error.h"

namespace sentencode {
namespace {

/// Restores the number of threads, after the test.
class Parallel : public testing::Test {
 protected:
  ~Parallel() override {
    set_interrupt_check(nullptr);
    set_num_threads(before_);
  }
  const int before_ = num_threads();
};

TEST_F(Parallel, VisitsEveryItemOnce) {
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const std::int64_t grain : {1, 3, 7, 1000, 1'000'000'000}) {
      std::vector<std::atomic<int>> seen(103);
      parallel_for(7, 103, grain, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, grain);
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i < 7 ? 0 : 1) << i << " of " << grain;
    }
  }
}

TEST_F(Parallel, DoesNothingForAnEmptyRange) {
  parallel_for(3, 3, 1, [](std::int64_t, std::int64_t) { FAIL(); });
  parallel_for(3, -3, 1, [](std::int64_t, std::int64_t) { FAIL(); });
}

TEST_F(Parallel, UsesTheRequestedThreads) {
  set_num_threads(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(0, 3, 1, [&](std::int64_t, std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    // Each piece waits for all three threads, so that no thread can take two.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      const std::lock_guard lock(mutex);
      if (ids.size() == 3) break;
    }
  });
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

TEST_F(Parallel, NestedCallsRunOnTheCallingThread) {
  set_num_threads(4);
  parallel_for(0, 8, 1, [](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(0, 8, 1,
                 [outer](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), outer); });
  });
}

TEST_F(Parallel, RethrowsTheFirstException) {
  set_num_threads(2);
  std::atomic<int> calls{0};
  const auto body = [&](std::int64_t begin, std::int64_t) {
    ++calls;
    if (begin == 5) throw std::range_error("five");
  };
  EXPECT_THROW(parallel_for(0, 1'000'000, 1, body), std::range_error);
  EXPECT_LT(calls, 1'000'000);
  calls = 0;
  parallel_for(10, 20, 1, body);  // the failure has no effect on later calls
  EXPECT_EQ(calls, 10);
}

TEST_F(Parallel, ChecksForCtrlCOnTheCallingThreadOnly) {
  set_num_threads(2);
  static std::atomic<int> asked;
  static std::thread::id caller;
  asked = 0;
  caller = std::this_thread::get_id();
  set_interrupt_check([] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return ++asked > 3;
  });
  EXPECT_THROW(parallel_for(0, 1'000'000, 1, [](std::int64_t, std::int64_t) {}), Interrupted);
  EXPECT_EQ(asked, 4);
}

TEST_F(Parallel, RefusesInvalidArguments) {
  EXPECT_THROW(set_num_threads(0), InvalidInput);
  EXPECT_THROW(parallel_for(0, 1, 0, [](std::int64_t, std::int64_t) {}), InvalidInput);
  EXPECT_EQ(num_threads(), before_);
}

TEST(OneBlasThread, DoesNotLimitParallelFor) {
  const int before = num_threads();
  set_num_threads(3);
  {
    const OneBlasThread outer;
    EXPECT_EQ(num_threads(), 3);
    { const OneBlasThread inner; }
    EXPECT_EQ(num_threads(), 3);
    set_num_threads(2);
    EXPECT_EQ(num_threads(), 2);
  }
  EXPECT_EQ(num_threads(), 2) << "what was asked for meanwhile";
  set_num_threads(before);
}

}  // namespace
}  // namespace sentencode
