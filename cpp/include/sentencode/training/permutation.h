#pragma once

#include <cstdint>

namespace sentencode {

/// A hash of two integers, for keys made of a seed, an epoch and a purpose.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

/// 64 random bits as a uniform number in [0, 1).
inline double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// A pseudorandom permutation of [0, n), without memory and with random access: an alternating Feistel
/// network over the least power of two that holds n, repeated while its output is not below n (cycle
/// walking).
class KeyedPermutation {
 public:
  KeyedPermutation(std::int64_t n, std::uint64_t key);

  std::int64_t size() const { return n_; }
  std::int64_t operator()(std::int64_t i) const;  // i in [0, n)

 private:
  std::int64_t n_;
  std::uint64_t key_;
  int low_bits_ = 0;
  std::uint64_t low_ = 0, high_ = 0;  // masks of the two halves, shifted to bit 0
};

}  // namespace sentencode
