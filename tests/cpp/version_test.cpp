#include "sentencode/version.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sentencode {
namespace {

TEST(BuildInfo, NamesVersionCompilerAndBlas) {
  const BuildInfo info = build_info();
  EXPECT_EQ(std::count(info.version.begin(), info.version.end(), '.'), 2) << info.version;
  EXPECT_FALSE(info.compiler.empty());
  EXPECT_TRUE(info.blas == "scipy" || info.blas == "system" || info.blas == "eigen") << info.blas;
}

TEST(BuildInfo, NamesTheKernels) {
  EXPECT_EQ(blas_kernel().empty(), build_info().blas == "eigen");
  EXPECT_TRUE(simd() == "avx512" || simd() == "avx2" || simd() == "portable") << simd();
}

}  // namespace
}  // namespace sentencode
