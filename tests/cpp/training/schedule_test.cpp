#include "sentencode/training/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sentencode/error.h"

namespace sentencode::training {
namespace {

using Shape = Schedule::Shape;

TEST(Schedule, IsConstantByDefault) {
  const Schedule schedule{.rate = 0.25};
  for (const std::int64_t step : {0, 1, 1000000}) EXPECT_DOUBLE_EQ(schedule.at(step), 0.25);
}

TEST(Schedule, WarmsUpLinearly) {
  const Schedule schedule{.rate = 2, .warmup = 4};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(1), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(3), 2.0);
  EXPECT_DOUBLE_EQ(schedule.at(4), 2.0);
}

TEST(Schedule, DecaysToItsEndAndStaysThere) {
  const Schedule linear{.rate = 1, .shape = Shape::linear, .warmup = 10, .steps = 110, .end = 0.1};
  EXPECT_DOUBLE_EQ(linear.at(10), 1.0);
  EXPECT_DOUBLE_EQ(linear.at(60), 0.55);
  EXPECT_DOUBLE_EQ(linear.at(110), 0.1);
  EXPECT_DOUBLE_EQ(linear.at(100000), 0.1);
  const Schedule cosine{.rate = 1, .shape = Shape::cosine, .steps = 100};
  EXPECT_DOUBLE_EQ(cosine.at(0), 1.0);
  EXPECT_NEAR(cosine.at(25), 0.5 + std::sqrt(0.125), 1e-12);
  EXPECT_NEAR(cosine.at(100), 0.0, 1e-12);
}

TEST(Schedule, EndsWithTheTimeLimit) {
  Schedule linear{.rate = 1, .shape = Shape::linear, .warmup = 10, .steps = 110};
  EXPECT_DOUBLE_EQ(linear.at(4, {}, 0, 0.9), 0.5);  // the warm-up counts steps
  EXPECT_DOUBLE_EQ(linear.at(10, {}, 0, 0.25), 0.75);
  EXPECT_DOUBLE_EQ(linear.at(60, {}, 0, 0.25), 0.5);

  linear.warmup_spent = 0.2;  // of the time, if that comes before the steps of the warm-up
  EXPECT_DOUBLE_EQ(linear.at(4, {}, 0, 0.05), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(0, {}, 0, 0.15), 0.75);
  EXPECT_DOUBLE_EQ(linear.at(4, {}, 0, 0.2), 1);
  EXPECT_DOUBLE_EQ(linear.at(4, {}, 0, 0.6), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(60, {}, 0, 0.25), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(4, {}, 0, 1), 0);
  EXPECT_DOUBLE_EQ(linear.at(60, {}, 0, 1), 0);
  EXPECT_DOUBLE_EQ((Schedule{.rate = 1}.at(60, {}, 0, 1)), 1);
  linear.warmup_spent = 1;
  EXPECT_THROW(linear.check(), InvalidInput);

  const Schedule root{.rate = 1, .shape = Shape::inverse_sqrt, .warmup = 1 << 20, .warmup_spent = 0.1};
  EXPECT_DOUBLE_EQ(root.at(4, {}, 0, 0.05), 0.5);
  EXPECT_DOUBLE_EQ(root.at(4, {}, 0, 0.1), 1);
  EXPECT_DOUBLE_EQ(root.at(4, {}, 0, 0.4), 0.5);
}

TEST(Schedule, InverseSquareRootContinuesTheWarmup) {
  const Schedule schedule{.rate = 1, .shape = Shape::inverse_sqrt, .warmup = 100};
  EXPECT_DOUBLE_EQ(schedule.at(99), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(399), 0.5);
  EXPECT_DOUBLE_EQ((Schedule{.rate = 1, .shape = Shape::inverse_sqrt}.at(0)), 1.0);
}

TEST(Schedule, HalvesAfterEachMiss) {
  const Schedule schedule{.rate = 1, .decay = 0.5};
  EXPECT_DOUBLE_EQ(schedule.at(7, std::vector<double>{3, 2, 1}), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(7, std::vector<double>{3, 2, 2.5}), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(7, std::vector<double>{3, 2, 2.5, 2.1, 1.0}), 0.25);
  const Schedule accuracy{.rate = 1, .decay = 0.5, .patience = 2, .higher_is_better = true};
  EXPECT_DOUBLE_EQ(accuracy.at(7, std::vector<double>{0.5, 0.4}), 1.0);
  EXPECT_DOUBLE_EQ(accuracy.at(7, std::vector<double>{0.5, 0.4, 0.5, 0.6}), 0.5);
}

TEST(Schedule, RefusesInvalidOptions) {
  EXPECT_THROW((Schedule{.rate = 0}.check()), InvalidInput);
  EXPECT_THROW((Schedule{.rate = std::numeric_limits<double>::quiet_NaN()}.check()), InvalidInput);
  EXPECT_THROW((Schedule{.shape = Shape::linear}.check()), InvalidInput);
  EXPECT_THROW((Schedule{.shape = Shape::cosine, .warmup = 5, .steps = 5}.check()), InvalidInput);
  EXPECT_THROW((Schedule{.decay = 0}.check()), InvalidInput);
  EXPECT_THROW((Schedule{.patience = 0}.check()), InvalidInput);
  EXPECT_NO_THROW(Schedule{}.check());
}

TEST(ScoreSummary, CountsMissesSinceTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(summarize({}, false, 1).best, -1);
  const std::vector<double> losses{nan, 3, 2, 2, nan, 4};
  const ScoreSummary summary = summarize(losses, false, 2);
  EXPECT_EQ(summary.best, 2);
  EXPECT_EQ(summary.misses, 3);
  EXPECT_EQ(summary.decays, 1);
  EXPECT_FALSE(summary.decayed);
  EXPECT_TRUE(summarize(std::span(losses).first(5), false, 2).decayed);
  EXPECT_EQ(summarize(losses, true, 2).best, 5);
}

}  // namespace
}  // namespace sentencode::training
