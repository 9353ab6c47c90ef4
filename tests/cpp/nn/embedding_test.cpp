#include "sentencode/nn/embedding.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

TEST(WordEmbedding, FrozenTablesAreParametersWithoutGradient) {
  const WordEmbedding frozen(4, 3, /*trainable=*/false);
  ASSERT_EQ(frozen.parameters().size(), 1U);
  EXPECT_FALSE(frozen.parameters()[0].requires_grad());
  EXPECT_THROW(WordEmbedding(0, 3), InvalidInput);
}

TEST(WordEmbedding, ExpandKeepsTheParameter) {
  WordEmbedding embedding(2, 3);
  const auto parameter = embedding.parameters()[0];
  embedding.expand(at::ones({2, 3}));
  EXPECT_EQ(parameter.size(0), 4);
  EXPECT_TRUE(at::equal(embedding.forward(at::arange(2, 4)), at::ones({2, 3})));
}

TEST(Positions, SinusoidsAndClamping) {
  EXPECT_TRUE(at::equal(sinusoids(0, 1, 4), at::tensor({0.F, 1.F, 0.F, 1.F}).view({1, 4})));
  const Positions learnt(3, PositionEncoding::learnt, 2, Beyond::clamp);
  const auto rows = learnt.forward(at::zeros({1, 4, 3}));
  EXPECT_TRUE(at::equal(rows[1], rows[3]));
  EXPECT_FALSE(at::equal(rows[0], rows[1]));
}

}  // namespace
}  // namespace sentencode::nn
