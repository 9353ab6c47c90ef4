// at::parallel_for of our own code: built without OpenMP it would be a loop on one thread.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace {

TEST(Threads, EachHasItsPart) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::thread::id of[2];
  at::parallel_for(0, 2, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) of[i] = std::this_thread::get_id();
  });
  at::set_num_threads(before);
  EXPECT_NE(of[0], of[1]);
}

}  // namespace
