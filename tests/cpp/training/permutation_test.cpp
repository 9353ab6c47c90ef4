#include "sentencode/training/permutation.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace sentencode {
namespace {

TEST(KeyedPermutation, VisitsEveryPositionOnce) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 65537}) {
    for (std::uint64_t key = 0; key < 5; ++key) {
      const KeyedPermutation permutation(n, key);
      std::vector<int> met(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) ++met.at(static_cast<std::size_t>(permutation(i)));
      EXPECT_EQ(met, std::vector<int>(met.size(), 1)) << n << " by key " << key;
    }
  }
}

TEST(KeyedPermutation, StaysWithinAnySize) {
  for (const std::int64_t n :
       {(std::int64_t{1} << 32) - 1, (std::int64_t{1} << 40) + 1, std::int64_t{1} << 62}) {
    const KeyedPermutation permutation(n, 3);
    for (std::int64_t i = 0; i < 1000; ++i) {
      EXPECT_GE(permutation(i), 0);
      EXPECT_LT(permutation(i), n);
    }
  }
}

TEST(KeyedPermutation, IsUniformOverKeys) {
  // All 24 orders of four, from 24,000 keys: chi-square with 23 degrees of freedom; more than 60 has
  // probability 1e-4.
  std::map<std::vector<std::int64_t>, int> orders;
  for (std::uint64_t key = 0; key < 24000; ++key) {
    const KeyedPermutation permutation(4, mixed(key, 1));
    ++orders[{permutation(0), permutation(1), permutation(2), permutation(3)}];
  }
  EXPECT_EQ(orders.size(), 24U);
  double chi_square = 0;
  for (const auto& [order, count] : orders) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 60.0);
}

TEST(KeyedPermutation, MovesItemsUniformly) {
  // Where item 17 of 100 goes, over 100,000 keys: 99 degrees of freedom; more than 170 has probability 1e-5.
  std::vector<int> counts(100);
  for (std::uint64_t key = 0; key < 100000; ++key) {
    ++counts[static_cast<std::size_t>(KeyedPermutation(100, mixed(7, key))(17))];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 170.0);
}

}  // namespace
}  // namespace sentencode
