#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sentencode {

/// Incremental SHA-256.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  std::string hex();  // 64 hexadecimal digits; nothing can be added after it

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t bytes_ = 0;
};

std::string sha256(std::span<const std::byte> bytes);

}  // namespace sentencode
