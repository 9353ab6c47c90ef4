#include "sentencode/nn/generalized_pooling.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

AttentionPooling pooling_of(Scores scores) {
  return AttentionPooling({.features = 6, .hidden = 4, .heads = 3, .scores = scores});
}

TEST(AttentionPooling, IsTheSumOfVectorsTimesWeights) {
  at::manual_seed(1);
  const auto h = at::randn({2, 5, 6}), lengths = at::tensor({5, 3}, at::kLong);
  for (const Scores scores : {Scores::vector, Scores::scalar}) {
    const AttentionPooling pooling = pooling_of(scores);
    auto a = pooling.weights(h, lengths);
    if (scores == Scores::scalar) a = a.unsqueeze(3);
    const auto v = (a * h.unsqueeze(1)).sum(2).flatten(1);
    EXPECT_TRUE(at::allclose(pooling.forward(h, lengths), v, 1e-4, 1e-5));
    EXPECT_EQ(pooling.dim(), 18);
  }
}

TEST(AttentionPooling, WithoutWordsThereIsNothing) {
  const auto pooling = pooling_of(Scores::vector);
  const auto found = pooling.forward(at::full({2, 3, 6}, NAN), at::tensor({0, 0}, at::kLong));
  EXPECT_TRUE(at::equal(found, at::zeros({2, 18})));
}

TEST(AttentionPooling, HasGradientsAndNoSecondOnes) {
  const auto pooling = pooling_of(Scores::vector);
  pooling.forward(at::randn({2, 3, 6})).square().sum().backward();
  for (const auto& parameter : pooling.parameters()) EXPECT_TRUE(parameter.grad().defined());
  const auto h = at::randn({2, 3, 6}).requires_grad_();
  EXPECT_THROW(torch::autograd::grad({pooling.forward(h).sum()}, {h}, {}, true, /*create_graph=*/true),
               c10::NotImplementedError);
}

TEST(AttentionPooling, SaysWhetherAPenaltyDoesAnything) {
  const AttentionPooling pooling({.features = 600, .hidden = 300, .heads = 5});
  const HeadPenalty found = pooling.penalty(Penalty::parameters, {}, {}, {});
  EXPECT_EQ(found.active.item<float>(), 0);
  const HeadPenalty alike = head_penalty(at::ones({3, 4}));
  EXPECT_EQ(alike.loss.item<float>(), 3);
  EXPECT_EQ(alike.active.item<float>(), 1);
}

TEST(AttentionPooling, NamesItsChoices) {
  EXPECT_EQ(parse_scores("scalar"), Scores::scalar);
  EXPECT_EQ(parse_penalty("embeddings"), Penalty::embeddings);
  EXPECT_THROW(parse_scores("matrix"), InvalidInput);
  EXPECT_THROW(parse_penalty("words"), InvalidInput);
  EXPECT_THROW(AttentionPooling({.features = 6, .hidden = 4, .heads = 0}), InvalidInput);
}

}  // namespace
}  // namespace sentencode::nn
