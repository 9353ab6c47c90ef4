#include "nn/vectorised.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sentencode::nn {
namespace {

/// Calls body(x) for floats of all signs and exponents, subnormal ones too.
template <typename Body>
void for_floats(const Body& body) {
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 12345) {
    body(std::bit_cast<float>(bits));
    body(-std::bit_cast<float>(bits));
  }
}

TEST(Vectorised, TanhHasASmallRelativeErrorForAllFloats) {
  for_floats([](float x) {
    const double expected = std::tanh(static_cast<double>(x));
    ASSERT_LE(std::abs(fast_tanh(x) - expected), 2e-7 * std::abs(expected)) << x;
  });
  for (const double x : {1e-300, 1e-8, -1e-3, 0.5, -20.0}) EXPECT_DOUBLE_EQ(fast_tanh(x), std::tanh(x));
}

TEST(Vectorised, TanhAtTheLimits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(fast_tanh(kInfinity), 1);
  EXPECT_EQ(fast_tanh(-kInfinity), -1);
  EXPECT_TRUE(std::isnan(fast_tanh(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Vectorised, ExpHasASmallRelativeErrorWhereItIsANormalFloat) {
  for_floats([](float x) {
    if (std::abs(x) > 87) return;
    const double expected = std::exp(static_cast<double>(x));
    ASSERT_LE(std::abs(fast_exp(x) - expected), 1.2e-7 * expected) << x;
  });
}

}  // namespace
}  // namespace sentencode::nn
