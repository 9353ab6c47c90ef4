#include "sentencode/evaluation/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

const std::vector<double> kX{1, 2, 3, 4, 5, 6}, kY{2, 1, 4, 3, 7, 5};

std::pair<std::vector<double>, std::vector<double>> correlated_pairs(std::size_t n, double noise) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = normal(random);
    y[i] = std::round(4 * (x[i] + noise * normal(random))) / 4;  // many ties
  }
  return {x, y};
}

TEST(Pearson, AgreesWithTheDefinition) {
  // Sums by hand: sxy = 16, sxx = 17.5, syy = 70/3.
  EXPECT_NEAR(pearson(kX, kY), 16 / std::sqrt(17.5 * 70 / 3), 1e-15);
}

TEST(Pearson, IsInvariantToExtremeShiftAndScale) {
  std::vector<double> shifted, huge, tiny;
  for (const double x : kX) {
    shifted.push_back(1e6 + x);
    huge.push_back(1e300 * x);
    tiny.push_back(1e-300 * x);
  }
  const double expected = pearson(kX, kY);
  EXPECT_NEAR(pearson(shifted, kY), expected, 1e-9);
  EXPECT_NEAR(pearson(huge, kY), expected, 1e-14);
  EXPECT_NEAR(pearson(tiny, kY), expected, 1e-14);
}

TEST(Pearson, IsNaNForConstants) {
  EXPECT_TRUE(std::isnan(pearson(kX, std::vector<double>(6, 0.1))));
  EXPECT_TRUE(std::isnan(pearson(std::vector<double>{1}, std::vector<double>{2})));
  EXPECT_TRUE(std::isnan(pearson({}, {})));
}

TEST(Pearson, RefusesInvalidValues) {
  const std::vector<double> holed{1, 2, std::numeric_limits<double>::quiet_NaN(), 4, 5, 6};
  EXPECT_THROW(pearson(kX, std::vector<double>{1}), InvalidInput);
  EXPECT_THROW(pearson(kX, holed), InvalidInput);
}

TEST(Ranks, OfTiesAreMeans) {
  EXPECT_EQ(ranks(std::vector<double>{10, 30, 20, 20, 5}), (std::vector<double>{2, 5, 3.5, 3.5, 1}));
  EXPECT_TRUE(ranks({}).empty());
}

TEST(Spearman, DependsOnTheOrderOnly) {
  std::vector<double> cubes;
  for (const double x : kX) cubes.push_back(x * x * x);
  EXPECT_DOUBLE_EQ(spearman(kX, cubes), 1);
  EXPECT_DOUBLE_EQ(spearman(cubes, kY), spearman(kX, kY));
}

TEST(CosineOfPairs, IsZeroWithAZeroRow) {
  Matrix a(3, 2), b(3, 2);
  a << 1, 0, 3, 4, 0, 0;
  b << 1, 1, -3, -4, 1, 2;
  std::vector<double> out(3);
  cosine_of_pairs(a, b, out);
  EXPECT_NEAR(out[0], std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(out[1], -1, 1e-15);
  EXPECT_EQ(out[2], 0);
  EXPECT_THROW(cosine_of_pairs(a, Matrix(3, 1), out), InvalidInput);
}

TEST(CosineOfPairs, OfEqualRowsIsExactlyOne) {
  const Matrix rows = Matrix::Random(200, 33);
  std::vector<double> out(200);
  cosine_of_pairs(rows, rows, out);
  EXPECT_EQ(std::ranges::count(out, 1.0), 200);
}

TEST(Bootstrap, IsInvariantToShiftAndScale) {
  const auto [x, y] = correlated_pairs(60, 1);
  const BootstrapOptions options{.resamples = 50, .seed = 3};
  const std::vector<double> expected_p = bootstrap(Correlation::pearson, x, y, options);
  const std::vector<double> expected_s = bootstrap(Correlation::spearman, x, y, options);
  ASSERT_EQ(expected_p.size(), 50u);
  std::vector<double> cubes, affine;
  for (const double v : x) {
    cubes.push_back(v * v * v);
    affine.push_back(-5 * v + 2);
  }
  const std::vector<double> of_cubes = bootstrap(Correlation::spearman, cubes, y, options);
  const std::vector<double> of_affine = bootstrap(Correlation::pearson, affine, y, options);
  const std::vector<double> of_ranks = bootstrap(Correlation::spearman, ranks(x), ranks(y), options);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_NEAR(of_cubes[i], expected_s[i], 1e-12);
    EXPECT_NEAR(of_affine[i], -expected_p[i], 1e-12);
    EXPECT_NEAR(of_ranks[i], expected_s[i], 1e-12);
  }
}

TEST(Bootstrap, SpearmanIsPearsonOfTheSamplesRanks) {
  // With two values on each side, ranks are affine in the values, whatever the sample: both must agree.
  std::vector<double> x, y;
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    x.push_back(random() % 2 ? 3.0 : -1.0);
    y.push_back(random() % 3 ? 10.0 : 20.0);
  }
  const std::vector<double> p = bootstrap(Correlation::pearson, x, y),
                            s = bootstrap(Correlation::spearman, x, y);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], s[i], 1e-12);
}

TEST(Bootstrap, DependsOnTheSeedAndNotOnThreads) {
  const auto [x, y] = correlated_pairs(500, 0.5);
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<double> alone = bootstrap(Correlation::pearson, x, y, {.resamples = 100, .seed = 9});
  set_num_threads(4);
  const std::vector<double> together = bootstrap(Correlation::pearson, x, y, {.resamples = 100, .seed = 9});
  set_num_threads(before);
  EXPECT_EQ(alone, together);
  EXPECT_NE(alone, bootstrap(Correlation::pearson, x, y, {.resamples = 100, .seed = 10}));
}

TEST(Bootstrap, HasTheTheoreticalSpread) {
  // Fisher: atanh(r) has a standard error of 1 / sqrt(n - 3) for normal pairs.
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> x(4000), y(4000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    y[i] = x[i] + normal(random);
  }
  const double r = pearson(x, y);
  const Interval interval = percentile_interval(bootstrap(Correlation::pearson, x, y, {.resamples = 4000}));
  const double half = 1.959964 / std::sqrt(3997.0);
  EXPECT_NEAR(interval.low, std::tanh(std::atanh(r) - half), 0.003);
  EXPECT_NEAR(interval.high, std::tanh(std::atanh(r) + half), 0.003);
}

TEST(Bootstrap, HasUndefinedSamples) {
  const std::vector<double> x{0.1, 0.1, 0.1, 0.7}, y{1, 2, 3, 4};
  const std::vector<double> values = bootstrap(Correlation::pearson, x, y);
  EXPECT_GT(std::ranges::count_if(values, [](double v) { return std::isnan(v); }), 400);  // (3/4)^4 of 2000
  EXPECT_FALSE(std::isnan(percentile_interval(values).low));
  EXPECT_TRUE(std::isnan(percentile_interval(std::vector<double>(6, std::nan(""))).low));
}

TEST(PercentileInterval, InterpolatesBetweenValues) {
  const Interval interval = percentile_interval({5, 1, 4, 2, 3}, 0.75);
  EXPECT_DOUBLE_EQ(interval.low, 1.5);
  EXPECT_DOUBLE_EQ(interval.high, 4.5);
  EXPECT_THROW(percentile_interval({1}, 1), InvalidInput);
  EXPECT_THROW(percentile_interval({1}, 0), InvalidInput);
}

}  // namespace
}  // namespace sentencode
