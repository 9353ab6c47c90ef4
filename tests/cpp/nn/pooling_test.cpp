#include "sentencode/nn/pooling.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace sentencode::nn {
namespace {

TEST(MaskedPooling, IgnoresPadding) {
  const auto x = at::tensor({1.F, 4.F, 3.F, 2.F, 9.F, 9.F}).view({1, 3, 2});
  const auto mask = at::tensor({1, 1, 0}).view({1, 3}).to(at::kBool);
  EXPECT_TRUE(at::equal(masked_pooling(x, mask, Pooling::mean), at::tensor({2.F, 3.F}).view({1, 2})));
  EXPECT_TRUE(at::equal(masked_pooling(x, mask, Pooling::max), at::tensor({3.F, 4.F}).view({1, 2})));
  EXPECT_TRUE(
      at::equal(masked_pooling(x, mask, Pooling::mean_max), at::tensor({2.F, 3.F, 3.F, 4.F}).view({1, 4})));
}

TEST(MaskedPooling, LastIsTheLastUnmaskedWord) {
  const auto x = at::arange(12, at::kFloat).view({3, 2, 2});
  const auto mask = at::tensor({1, 1, 1, 0, 0, 0}).view({3, 2}).to(at::kBool);
  EXPECT_TRUE(at::equal(masked_pooling(x, mask, Pooling::last),
                        at::tensor({2.F, 3.F, 4.F, 5.F, 0.F, 0.F}).view({3, 2})));
}

}  // namespace
}  // namespace sentencode::nn
