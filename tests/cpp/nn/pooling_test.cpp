#include "sentencode/nn/pooling.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

TEST(MaskedPooling, HiddenWordsCountForNothing) {
  const auto x = at::tensor({1.F, 4.F, 3.F, 2.F, 9.F, 9.F}).view({1, 3, 2});
  const auto mask = at::tensor({1, 1, 0}).view({1, 3}).to(at::kBool);
  EXPECT_TRUE(at::equal(masked_pooling(x, mask, Pooling::mean), at::tensor({2.F, 3.F}).view({1, 2})));
  EXPECT_TRUE(at::equal(masked_pooling(x, mask, Pooling::max), at::tensor({3.F, 4.F}).view({1, 2})));
  EXPECT_TRUE(
      at::equal(masked_pooling(x, mask, Pooling::mean_max), at::tensor({2.F, 3.F, 3.F, 4.F}).view({1, 4})));
}

TEST(MaskedPooling, NamesGoThereAndBack) {
  for (const Pooling pooling : {Pooling::mean, Pooling::max, Pooling::mean_max}) {
    EXPECT_EQ(parse_pooling(pooling_name(pooling)), pooling);
  }
  EXPECT_THROW(parse_pooling("median"), InvalidInput);
}

TEST(ProjectedPooling, HasItsProjectionsParameters) {
  const ProjectedPooling encoder(3, 2, "max");
  const auto parameters = encoder.named_parameters();
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters["projection.weight"].sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(ProjectedPooling(3, 2, "max", /*bias=*/false).named_parameters().size(), 1U);
  EXPECT_THROW(ProjectedPooling(3, 0), InvalidInput);
}

}  // namespace
}  // namespace sentencode::nn
