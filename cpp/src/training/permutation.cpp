#include "sentencode/training/permutation.h"

#include <bit>

#include "sentencode/error.h"

namespace sentencode {
namespace {

constexpr int kRounds = 8;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

/// Stafford's variant 13 of MurmurHash3's finalizer.
std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return scrambled(scrambled(a + kGolden) ^ (b + 1) * kGolden);
}

KeyedPermutation::KeyedPermutation(std::int64_t n, std::uint64_t key) : n_(n), key_(key) {
  ST_CHECK(n >= 0, InvalidInput, "permutation: n must not be negative, got ", n);
  const int bits = n > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1))) : 0;
  low_bits_ = (bits + 1) / 2;
  low_ = (std::uint64_t{1} << low_bits_) - 1;
  high_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
}

std::int64_t KeyedPermutation::operator()(std::int64_t i) const {
  ST_INVARIANT(i >= 0 && i < n_);
  auto x = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t low = x & low_, high = x >> low_bits_;
    std::uint64_t key = key_;
    for (int round = 0; round < kRounds; round += 2) {
      high ^= scrambled((key += kGolden) ^ low) & high_;
      low ^= scrambled((key += kGolden) ^ high) & low_;
    }
    x = high << low_bits_ | low;
  } while (x >= static_cast<std::uint64_t>(n_));
  return static_cast<std::int64_t>(x);
}

}  // namespace sentencode
