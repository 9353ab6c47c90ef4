// Functions for loops that compilers vectorise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

// Compiles a function once per processor generation; the loader picks one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ST_VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ST_VERSIONS
#endif
#define ST_INLINE inline __attribute__((always_inline))

namespace sentencode::nn {

/// e^x = scale (1 + q); returns q, with x clamped to [-87, 88].
ST_INLINE float exp_parts(float x, float& scale) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const auto bits = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  scale = std::bit_cast<float>((bits + 127) << 23);  // 2^n
  return p * r * r + r;
}

/// e^x with a relative error below 1.2e-7.
ST_INLINE float fast_exp(float x) {
  float scale = 0;
  const float q = exp_parts(x, scale);
  return (q + 1.0F) * scale;
}

ST_INLINE double fast_exp(double x) { return std::exp(x); }

template <typename T>
ST_INLINE T sigmoid(T x) {
  return 1 / (1 + fast_exp(-x));
}

/// tanh(x) = (e^2x - 1) / (e^2x + 1) with a relative error below 2e-7: e^2x - 1 is computed without
/// cancellation.
ST_INLINE float fast_tanh(float x) {
  float scale = 0;
  const float q = exp_parts(2 * x, scale);
  const float e_minus_1 = scale * q + (scale - 1);
  return e_minus_1 / (e_minus_1 + 2);
}

ST_INLINE double fast_tanh(double x) { return std::tanh(x); }

/// Sums are added up in so many parts, because compilers do not reorder additions to vectorise them.
inline constexpr std::int64_t kLanes = 16;

template <typename T>
ST_INLINE T total(const T (&lanes)[kLanes]) {
  T sum = 0;
  for (const T lane : lanes) sum += lane;
  return sum;
}

/// Adds the products a_k b_k to the parts of a sum.
template <typename T>
ST_INLINE void add_products(const T* __restrict a, const T* __restrict b, std::int64_t count,
                            T (&lanes)[kLanes]) {
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[k + lane] * b[k + lane];
  }
  for (; k < count; ++k) lanes[0] += a[k] * b[k];
}

template <typename T>
ST_INLINE T dot(const T* a, const T* b, std::int64_t count) {
  T lanes[kLanes] = {};
  add_products(a, b, count, lanes);
  return total(lanes);
}

}  // namespace sentencode::nn
