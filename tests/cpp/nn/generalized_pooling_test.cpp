#include "sentencode/nn/generalized_pooling.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "nn/on_device.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

AttentionPooling pooling_of(Scores scores) {
  return AttentionPooling({.features = 6, .hidden = 4, .heads = 3, .scores = scores});
}

class AttentionPoolingOn : public OnDevice {};
ST_ON_DEVICES(AttentionPoolingOn);

TEST_P(AttentionPoolingOn, IsTheSumOfVectorsTimesWeights) {
  at::manual_seed(1);
  const auto h = at::randn({2, 5, 6}).to(GetParam());
  const auto lengths = at::tensor({5, 3}, at::kLong).to(GetParam());
  for (const Scores scores : {Scores::vector, Scores::scalar}) {
    AttentionPooling pooling = pooling_of(scores);
    pooling.to(at::Device(GetParam()));
    auto a = pooling.weights(h, lengths);
    if (scores == Scores::scalar) a = a.unsqueeze(3);
    const auto v = (a * h.unsqueeze(1)).sum(2).flatten(1);
    EXPECT_TRUE(at::allclose(pooling.forward(h, lengths), v, 1e-4, 1e-5));
    EXPECT_EQ(pooling.dim(), 18);
  }
}

TEST_P(AttentionPoolingOn, WithoutWordsItIsZero) {
  for (const Scores scores : {Scores::vector, Scores::scalar}) {
    auto pooling = pooling_of(scores);
    pooling.to(at::Device(GetParam()));
    const auto h = at::full({2, 3, 6}, NAN).to(GetParam());
    const auto v = pooling.forward(h, at::tensor({0, 0}, at::kLong).to(GetParam()));
    EXPECT_TRUE(at::equal(v.cpu(), at::zeros({2, 18})));
  }
}

/// The gradients of all parameters and of h, and v, copied to the CPU.
template <typename Forward>
std::vector<at::Tensor> outputs_of(AttentionPooling& pooling, const at::Tensor& h, const Forward& forward) {
  const auto x = h.detach().clone().requires_grad_();
  const auto v = forward(x);
  std::vector<at::Tensor> inputs = pooling.parameters();
  inputs.push_back(x);
  auto outputs =
      torch::autograd::grad({(v * at::linspace(-1, 1, v.numel(), v.options()).view_as(v)).sum()}, inputs);
  outputs.push_back(v.detach());
  for (auto& tensor : outputs) tensor = tensor.cpu();
  return outputs;
}

TEST_P(AttentionPoolingOn, EqualsTheCpu) {
  at::manual_seed(2);
  const auto h = at::randn({5, 9, 33}, at::kDouble), lengths = at::tensor({3, 9, 0, 1, 8}, at::kLong);
  for (const Scores scores : {Scores::vector, Scores::scalar}) {
    for (const Activation activation : {Activation::relu, Activation::tanh}) {
      AttentionPooling pooling(
          {.features = 33, .hidden = 7, .heads = 3, .scores = scores, .activation = activation});
      pooling.to(at::kDouble);
      const auto expected =
          outputs_of(pooling, h, [&](const auto& x) { return pooling.forward(x, lengths); });
      const at::Device device(GetParam());
      pooling.to(device);
      const auto there = h.to(device), sizes = lengths.to(device);
      for (const bool kernel : {false, true}) {
        SCOPED_TRACE(concat(name_of(scores), ", ", name_of(activation), ", kernel ", kernel));
        const auto actual =
            outputs_of(pooling, there, [&](const auto& x) { return pooling.composed(x, sizes, kernel); });
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < actual.size(); ++i) {
          EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-10, 1e-12)) << i;
        }
      }
    }
  }
}

TEST(AttentionPooling, HasFirstDerivativesOnly) {
  const auto pooling = pooling_of(Scores::vector);
  pooling.forward(at::randn({2, 3, 6})).square().sum().backward();
  for (const auto& parameter : pooling.parameters()) EXPECT_TRUE(parameter.grad().defined());
  const auto h = at::randn({2, 3, 6}).requires_grad_();
  EXPECT_THROW(torch::autograd::grad({pooling.forward(h).sum()}, {h}, {}, true, /*create_graph=*/true),
               c10::NotImplementedError);
}

TEST(AttentionPooling, ReportsWhetherAPenaltyIsActive) {
  const AttentionPooling pooling({.features = 600, .hidden = 300, .heads = 5});
  EXPECT_EQ(pooling.penalty(Penalty::parameters, {}, {}, {}).active.item<float>(), 0);
  const HeadPenalty equal_heads = head_penalty(at::ones({3, 4}));
  EXPECT_EQ(equal_heads.loss.item<float>(), 3);
  EXPECT_EQ(equal_heads.active.item<float>(), 1);
}

TEST(AttentionPooling, ChecksSizes) {
  EXPECT_THROW(AttentionPooling({.features = 6, .hidden = 4, .heads = 0}), InvalidInput);
}

}  // namespace
}  // namespace sentencode::nn
