#include "sentencode/nn/softmax_loss.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "nn/on_device.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

class SoftmaxLossOn : public OnDevice {};
ST_ON_DEVICES(SoftmaxLossOn);

TEST_P(SoftmaxLossOn, ChunksEqualTheWhole) {
  at::manual_seed(1);
  const auto h = at::randn({9, 4}, at::kDouble).to(device()).requires_grad_(true);
  const auto W = at::randn({6, 4}, at::kDouble).to(device()).requires_grad_(true);
  const auto targets = at::randint(6, {9}, at::kLong).to(device());
  const SoftmaxLossOptions options{.label_smoothing = 0.2, .chunk_rows = 2};
  softmax_loss(h, W, {}, targets, {}, options).loss.backward();
  const auto grad_h = h.grad().clone(), grad_W = W.grad().clone();
  h.mutable_grad().zero_();
  W.mutable_grad().zero_();
  at::cross_entropy_loss(at::mm(h, W.t()), targets, {}, at::Reduction::Mean, -100, 0.2).backward();
  EXPECT_TRUE(at::allclose(grad_h, h.grad()));
  EXPECT_TRUE(at::allclose(grad_W, W.grad()));
}

TEST(Negatives, SampleOfAllWords) {
  const auto negatives = draw_negatives(expected_counts(log_uniform_distribution(5), 5));
  EXPECT_TRUE(at::equal(negatives.ids, at::arange(5)));
  EXPECT_TRUE(at::equal(negatives.expected, at::ones({5})));
}

TEST(WordSoftmax, TiedHasNoWeight) {
  EXPECT_EQ(WordSoftmax(3, 7).named_parameters().size(), 2U);
  EXPECT_EQ(WordSoftmax(3, 7, /*bias=*/true, /*tied=*/true).named_parameters().size(), 1U);
  EXPECT_THROW(WordSoftmax(3, 0), InvalidInput);
}

}  // namespace
}  // namespace sentencode::nn
