// The kernels of attention pooling, on the emulated GPU, against their plain reference in double.
#include "cuda/emulation.h"

// Other names than in the library, which may contain the kernels for a real GPU.
#define pool_vectors emulated_pool_vectors
#define pool_vectors_backward emulated_pool_vectors_backward
#include "cuda/generalized_pooling.cu"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sentencode::nn {
namespace {

using emulation::Order;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// An array of NaN without spare capacity, to detect elements that are not written, and writes past the end.
template <typename T>
std::vector<T> blank(std::int64_t size) {
  return std::vector<T>(static_cast<std::size_t>(size), static_cast<T>(kNan));
}

struct Sizes {
  std::vector<std::int64_t> lengths;
  std::int64_t time, features, heads;

  std::int64_t batch() const { return static_cast<std::int64_t>(lengths.size()); }
  std::int64_t padded() const { return batch() * time * features; }
  std::int64_t pooled() const { return batch() * heads * features; }
};

/// Forward and backward of random numbers; NaN at padding.
template <typename T>
struct Example {
  Sizes sizes;
  std::vector<T> scores, h, pooled, most, sums, g, grad_scores, grad_h;

  explicit Example(const Sizes& of, double scale = 1)
      : sizes(of),
        scores(blank<T>(of.padded() * of.heads)),
        h(blank<T>(of.padded())),
        pooled(blank<T>(of.pooled())),
        most(pooled),
        sums(pooled),
        g(pooled),
        grad_scores(scores),
        grad_h(h) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const auto fill_words = [&](std::vector<T>& array, double by) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(array.size()); ++i) {
        const std::int64_t t = i / of.features % of.time, b = i / of.features / of.time % of.batch();
        const float x = normal(random);
        if (t < of.lengths[static_cast<std::size_t>(b)])
          array[static_cast<std::size_t>(i)] = static_cast<T>(by * x);
      }
    };
    fill_words(scores, scale);
    fill_words(h, 1);
    for (T& x : g) x = static_cast<T>(normal(random));
  }

  Example<double> to_double() const {
    Example<double> other(sizes);
    other.scores.assign(scores.begin(), scores.end());
    other.h.assign(h.begin(), h.end());
    other.g.assign(g.begin(), g.end());
    return other;
  }

  VectorPooling<T> job() {
    return {sizes.batch(), sizes.time,         sizes.features, sizes.heads, sizes.lengths.data(),
            scores.data(), h.data(),           pooled.data(),  most.data(), sums.data(),
            g.data(),      grad_scores.data(), grad_h.data()};
  }
  void run() {
    ASSERT_EQ(pool_vectors(job(), nullptr), 0);
    ASSERT_EQ(pool_vectors_backward(job(), nullptr), 0);
  }
  void run_reference() {
    const VectorPooling<T> all = job();
    for (std::int64_t b = 0; b < sizes.batch(); ++b) {
      for (std::int64_t j = 0; j < sizes.features; ++j) {
        for (std::int64_t i = 0; i < sizes.heads; ++i) reference_forward(all, b, i, j);
        for (std::int64_t t = 0; t < sizes.time; ++t) reference_backward(all, b, t, j);
      }
    }
  }
};

/// Equal up to `tolerance` times the largest number.
template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, double tolerance,
                 const char* name) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance * largest) << name << "[" << i << "]";
  }
}

template <typename T>
void expect_reference(const Sizes& sizes, double scale = 1, double tolerance_of_float = 2e-6) {
  Example<T> example(sizes, scale);
  Example<double> exact = example.to_double();
  exact.run_reference();
  example.run();
  const double tolerance = std::is_same_v<T, float> ? tolerance_of_float : 1e-13;
  expect_near(example.pooled, exact.pooled, tolerance, "pooled");
  expect_near(example.sums, exact.sums, tolerance, "sums");
  expect_near(example.grad_scores, exact.grad_scores, tolerance, "grad_scores");
  expect_near(example.grad_h, exact.grad_h, tolerance, "grad_h");
}

/// Every order of threads, in both types.
void expect_reference_in_all_orders(const Sizes& sizes, double scale = 1, double tolerance_of_float = 2e-6) {
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    emulation::order = order;
    SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)));
    expect_reference<float>(sizes, scale, tolerance_of_float);
    expect_reference<double>(sizes, scale);
  }
  emulation::order = Order::forward;
}

TEST(PoolingKernel, EqualsTheReferenceAtTheBordersOfBlocks) {
  for (const std::int64_t features : {1, 31, 32, 33, 65}) {
    SCOPED_TRACE("features " + std::to_string(features));
    expect_reference_in_all_orders({{3, 0, 1, 8, 7, 2, 9}, 9, features, 2});
  }
  for (const std::int64_t time : {1, 7, 8, 9, 31, 32, 33, 63, 65}) {
    SCOPED_TRACE("time " + std::to_string(time));
    expect_reference_in_all_orders({{time - 1, (time + 1) / 2, 0, time}, time, 5, 3});
  }
}

TEST(PoolingKernel, EqualsTheReferenceAtTheBordersOfRuns) {
  // A run is 64 words of each of 8 lanes.
  expect_reference_in_all_orders({{511, 512, 513, 519, 520, 521, 1025}, 1025, 1, 1});
}

TEST(PoolingKernel, OneWordHasAllWeight) {
  // Not by the reference, which shares length_of with the kernels.
  Example<double> example(Sizes{{1, 1}, 2, 3, 1});
  example.run();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t out = b * 3 + j, word = b * 6 + j, padding = word + 3;
      EXPECT_EQ(example.pooled[out], example.h[word]);
      EXPECT_EQ(example.grad_h[word], example.g[out]);
      EXPECT_EQ(example.grad_h[padding], 0);
      EXPECT_EQ(example.grad_scores[word], 0);
      EXPECT_EQ(example.grad_scores[padding], 0);
    }
  }
}

TEST(PoolingKernel, SentencesWithoutWords) {
  expect_reference_in_all_orders({{0, 0, 0}, 4, 6, 2});
  Example<float> example(Sizes{{0, 0}, 0, 6, 2});
  example.run();
  expect_near(example.pooled, std::vector<double>(24, 0), 0, "pooled");
  Example<float>(Sizes{{}, 3, 6, 2}).run();
}

TEST(PoolingKernel, OneLongSentenceNextToShortOnes) {
  expect_reference_in_all_orders({{5, 5000, 1, 0}, 5000, 3, 2});
}

TEST(PoolingKernel, MoreWordsThanABackwardsGrid) {
  // 1,024 blocks of 32 words, and a remainder.
  expect_reference<float>({{33000}, 33000, 1, 1});
}

TEST(PoolingKernel, ManyHeads) { expect_reference_in_all_orders({{4, 2, 7}, 7, 3, 67}); }

TEST(PoolingKernel, LargeScoresDoNotOverflow) {
  // Nearly all weight is on one word, whose gradient is a difference of nearly equal numbers.
  expect_reference_in_all_orders({{12, 40, 1}, 40, 9, 2}, 1e3, 2e-5);
}

TEST(PoolingKernel, AddsUpAHundredThousandWords) { expect_reference<float>({{100000}, 100000, 2, 1}); }

TEST(PoolingKernel, LengthsAreClamped) {
  Example<double> example(Sizes{{3, 2}, 3, 4, 2}), exact = example.to_double();
  exact.sizes.lengths = {3, 2};
  exact.run_reference();
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::int64_t j = 0; j < 4; ++j)
      example.h[static_cast<std::size_t>(t * 4 + j)] = exact.h[static_cast<std::size_t>(t * 4 + j)];
  }
  example.sizes.lengths = {99, 2};
  example.run();
  expect_near(example.pooled, exact.pooled, 1e-13, "pooled");
  example.sizes.lengths = {-1, 2};
  example.run();
  std::fill_n(exact.pooled.begin(), 8, 0);
  expect_near(example.pooled, exact.pooled, 1e-13, "pooled");
}

TEST(PoolingKernel, PropagatesNaN) {
  Example<float> example(Sizes{{3}, 4, 1, 1});
  example.scores[1] = std::numeric_limits<float>::quiet_NaN();
  example.run();
  EXPECT_TRUE(std::isnan(example.pooled[0]));
  EXPECT_TRUE(std::isnan(example.grad_h[0]));
  EXPECT_EQ(example.grad_h[3], 0);  // padding
  EXPECT_EQ(example.grad_scores[3], 0);
}

}  // namespace
}  // namespace sentencode::nn
