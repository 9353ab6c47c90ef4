#include "sentencode/nn/recurrent.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "nn/on_device.h"

namespace sentencode::nn {
namespace {

TEST(RecurrentStack, ShortcutsWidenTheLayersAbove) {
  RecurrentOptions options{Cell::gru, 4, 3, 3, /*bidirectional=*/true};
  const auto widths = [&] {
    const auto parameters = RecurrentStack(options).named_parameters();
    return std::vector<std::int64_t>{parameters["weight_ih_l1"].size(1), parameters["weight_ih_l2"].size(1)};
  };
  EXPECT_EQ(widths(), (std::vector<std::int64_t>{6, 6}));
  options.shortcuts = Shortcuts::input;
  EXPECT_EQ(widths(), (std::vector<std::int64_t>{10, 10}));
  options.shortcuts = Shortcuts::all;
  EXPECT_EQ(widths(), (std::vector<std::int64_t>{10, 16}));
}

class RecurrentStackOn : public OnDevice {};
ST_ON_DEVICES(RecurrentStackOn);

TEST_P(RecurrentStackOn, StepsEqualForward) {
  at::manual_seed(1);
  RecurrentStack stack({Cell::lstm, 4, 3, 2, /*bidirectional=*/false, Shortcuts::all});
  stack.to(device());
  const auto x = at::randn({2, 5, 4}).to(device());
  const auto whole = stack.forward(x);
  auto state = stack.zero_state(2, x.options());
  at::Tensor output;
  for (std::int64_t t = 0; t < 5; ++t) std::tie(output, state) = stack.step(x.select(1, t), state);
  EXPECT_TRUE(at::allclose(output, whole.output.select(1, 4), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(state[1], whole.state[1], 1e-5, 1e-6));
}

}  // namespace
}  // namespace sentencode::nn
