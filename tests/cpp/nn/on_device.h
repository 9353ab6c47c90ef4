// Tests that run on the CPU, and on a GPU if there is one.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace sentencode::nn {

class OnDevice : public testing::TestWithParam<at::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == at::kCUDA && !at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  }
  static at::Device device() { return {GetParam()}; }
};

}  // namespace sentencode::nn

#define ST_ON_DEVICES(suite)                                                                            \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::Values(at::kCPU, at::kCUDA), [](const auto& test) { \
    return c10::DeviceTypeName(test.param, /*lower_case=*/true);                                        \
  })
