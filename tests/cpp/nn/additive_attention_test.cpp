#include "sentencode/nn/additive_attention.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

TEST(AdditiveAttention, HypothesesAttendToTheirSentence) {
  at::manual_seed(1);
  const AdditiveAttention attention({6, 4, 5});
  const auto query = at::randn({6, 1, 6}), memory = at::randn({2, 4, 4});  // three hypotheses per sentence
  const auto mask = at::tensor({1, 1, 1, 0, 1, 0, 0, 0}).view({2, 4}).to(at::kBool);
  const auto [context, weights] = attention.attend(query, attention.project(memory, mask), mask);
  const auto [expected_context, expected_weights] =
      attention.forward(query, memory.repeat_interleave(3, 0), mask.repeat_interleave(3, 0));
  EXPECT_TRUE(at::allclose(context, expected_context, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(weights, expected_weights, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(weights.sum(2), at::ones({6, 1})));
}

TEST(AdditiveAttention, IsZeroIfAllKeysAreMasked) {
  const AdditiveAttention attention({6, 4, 5});
  const auto [context, weights] =
      attention.forward(at::randn({2, 3, 6}), at::randn({2, 4, 4}), at::zeros({2, 4}, at::kBool));
  EXPECT_TRUE(at::equal(context, at::zeros({2, 3, 4})));
  EXPECT_TRUE(at::equal(weights, at::zeros({2, 3, 4})));
}

TEST(AdditiveAttention, ParametersAndOptions) {
  AdditiveAttentionOptions options{6, 4, 5};
  EXPECT_EQ(AdditiveAttention(options).named_parameters().size(), 4U);
  options.bias = false;
  EXPECT_EQ(AdditiveAttention(options).named_parameters().size(), 3U);
  options.features = 0;
  EXPECT_THROW(AdditiveAttention{options}, InvalidInput);
}

}  // namespace
}  // namespace sentencode::nn
