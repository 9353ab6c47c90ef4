#pragma once

#include <cstdint>

namespace sentencode {

/// Well-mixed bits of two numbers: how keys are made of a seed, an epoch, and what is shuffled.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

/// A permutation of [0, n) that a key chooses and nothing stores: each place is computed alone, so that the
/// order of a corpus of any size takes no memory, and any step of it is there at once. An alternating Feistel
/// network over the least power of two that holds n; what falls outside of [0, n) goes through again.
class KeyedPermutation {
 public:
  KeyedPermutation(std::int64_t n, std::uint64_t key);

  std::int64_t size() const { return n_; }
  std::int64_t operator()(std::int64_t i) const;  // i in [0, n)

 private:
  std::int64_t n_;
  std::uint64_t key_;
  int low_bits_ = 0;
  std::uint64_t low_ = 0, high_ = 0;  // masks of the two halves, each shifted down to bit 0
};

}  // namespace sentencode
