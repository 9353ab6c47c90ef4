// at::parallel_for in our code: without OpenMP it would run on one thread.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace {

TEST(Threads, ParallelForUsesThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::thread::id ids[2];
  at::parallel_for(0, 2, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) ids[i] = std::this_thread::get_id();
  });
  at::set_num_threads(before);
  EXPECT_NE(ids[0], ids[1]);
}

}  // namespace
