#include "sentencode/nn/convolution.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <tuple>

#include "sentencode/error.h"
#include "sentencode/nn/limit.h"

namespace sentencode::nn {
namespace {

TEST(Convolution, CausalStepsEqualForward) {
  at::manual_seed(1);
  const Convolution convolution(4, 3, 3, Activation::relu, Padding::causal);
  const auto x = at::randn({2, 5, 4});
  const auto [whole, windows] = convolution.forward(x);
  EXPECT_TRUE(windows.all().item<bool>());
  auto cache = convolution.empty_cache(2, x);
  at::Tensor h;
  for (std::int64_t t = 0; t < 5; ++t) {
    std::tie(h, cache) = convolution.step(x.select(1, t), cache);
    EXPECT_TRUE(at::allclose(h, whole.select(1, t), 1e-5, 1e-6));
  }
  EXPECT_EQ(cache.sizes(), at::IntArrayRef({2, 2, 4}));
}

TEST(Convolution, PaddingShiftsWindows) {
  at::manual_seed(1);
  Convolution valid(4, 3, 4), same(4, 3, 4, Activation::tanh, Padding::same),
      causal(4, 3, 4, Activation::tanh, Padding::causal);
  const auto x = at::randn({2, 6, 4});
  const auto weights = valid.named_parameters();
  const at::NoGradGuard no_grad;
  for (Convolution* other : {&same, &causal}) {
    for (const auto& parameter : other->named_parameters()) parameter.value().copy_(weights[parameter.key()]);
  }
  const auto h = valid.forward(x).first;  // windows begin at each word
  EXPECT_TRUE(at::allclose(same.forward(x).first.slice(1, 1), h.slice(1, 0, 5), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(causal.forward(x).first.slice(1, 3), h.slice(1, 0, 3), 1e-5, 1e-6));
}

TEST(Convolution, OnlyCausalWindowsHaveSteps) {
  const Convolution same(4, 3, 3, Activation::none, Padding::same);
  EXPECT_THROW(same.empty_cache(2, at::zeros({1})), c10::ValueError);
  EXPECT_THROW(same.step(at::zeros({2, 4}), at::zeros({2, 2, 4})), c10::ValueError);
}

TEST(Convolution, LimitOfParametersAndElements) {
  {
    const NumbersLimit enough(1000, 2);
    EXPECT_NO_THROW(Convolution(2, 3, 2));
  }
  {
    const NumbersLimit few_elements(11, 2);
    EXPECT_THROW(Convolution(2, 3, 2), InvalidInput);
  }
  const NumbersLimit few_parameters(1000, 0);
  EXPECT_THROW(Convolution(2, 3, 2), InvalidInput);
}

}  // namespace
}  // namespace sentencode::nn
