#include "sentencode/nn/attention.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "sentencode/error.h"
#include "sentencode/nn/add_norm.h"

namespace sentencode::nn {
namespace {

TEST(MultiHeadAttention, OutputProjectionIsOptional) {
  AttentionOptions options{6, 4, 8, 2};
  EXPECT_EQ(MultiHeadAttention(options).parameters().size(), 8U);
  options.output_projection = false;
  EXPECT_EQ(MultiHeadAttention(options).parameters().size(), 6U);
  options.heads = 3;
  EXPECT_THROW(MultiHeadAttention{options}, InvalidInput);
}

TEST(MultiHeadAttention, WithWeightsEqualsForward) {
  at::manual_seed(1);
  const MultiHeadAttention attention({6, 4, 8, 2});
  const auto query = at::randn({3, 5, 6}), memory = at::randn({3, 4, 4});
  const auto mask = at::tensor({1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0}).view({3, 4}).to(at::kBool);
  const auto [attended, weights] = attention.with_weights(query, memory, memory, mask);
  EXPECT_TRUE(at::allclose(attended, attention.forward(query, memory, memory, mask), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(weights[0].sum(-1), at::ones({2, 5})));
  EXPECT_TRUE(at::equal(weights[2], at::zeros({2, 5, 4})));
}

TEST(AddNorm, ChecksEpsilon) { EXPECT_THROW(AddNorm(3, 0), InvalidInput); }

}  // namespace
}  // namespace sentencode::nn
