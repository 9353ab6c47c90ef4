#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// IEEE binary16 and float without branches, so that compilers vectorise loops over them.
namespace sentencode {

constexpr float kHalfInfinity = 65520.0F;  // the smallest number that float16 rounds to infinity

/// A multiplication adjusts the exponent, also of subnormals.
inline float half_to_float(std::uint16_t half) {
  const auto magnitude = static_cast<std::uint32_t>(half & 0x7fff) << 13;
  const auto sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t special = magnitude >= 0x0f800000 ? 0x7f800000 : 0;  // infinity and NaN
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  return std::bit_cast<float>(sign | special | finite);
}

/// Rounded to nearest, ties to even. Overflow gives infinity.
inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const std::uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112U << 23)) >> 13;
  // The addition rounds at the right bit.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::abs(value) + 0.5F) - 0x3f000000;
  const std::uint32_t special = 0x7c00 | (magnitude > 0x7f800000 ? 0x200 : 0);  // infinity, NaN
  // Masks: compilers would turn conditional expressions into branches.
  const std::uint32_t is_small = 0U - static_cast<std::uint32_t>(magnitude < 0x38800000);
  const std::uint32_t is_large = 0U - static_cast<std::uint32_t>(magnitude >= 0x477ff000);
  const std::uint32_t finite = (subnormal & is_small) | (normal & ~is_small);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (special & is_large) | (finite & ~is_large));
}

}  // namespace sentencode
