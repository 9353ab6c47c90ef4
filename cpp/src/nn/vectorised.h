// Loops that compilers make vectors of.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

// Versions for the processors that there are; the one that is run is chosen when the library is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ST_VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ST_VERSIONS
#endif
#define ST_INLINE inline __attribute__((always_inline))
// For loops over what registers hold: GCC else leaves some of it in memory.
#if defined(__clang__)
#define ST_UNROLL _Pragma("unroll")
#else
#define ST_UNROLL _Pragma("GCC unroll 16")
#endif

namespace sentencode::nn {

/// e^x to two units in the last place.
ST_INLINE float exponential(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded to a whole number
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
  p = p * r * r + r + 1.0F;
  const auto bits = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  return p * std::bit_cast<float>((bits + 127) << 23);
}

ST_INLINE double exponential(double x) { return std::exp(x); }

template <typename T>
ST_INLINE T sigmoid(T x) {
  return 1 / (1 + exponential(-x));
}
template <typename T>
ST_INLINE T tanh_of(T x) {
  return 1 - 2 / (1 + exponential(2 * x));
}

/// `Bytes` of numbers, and the same anywhere in memory. Passed by reference alone: how one is passed by value
/// depends on the processor.
template <typename T, int Bytes>
struct Lanes {
  // NOLINTBEGIN: `using` does not take attributes
  typedef T type __attribute__((vector_size(Bytes)));
  typedef T anywhere __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));
  // NOLINTEND
};

/// For loops whose sums must stay in registers. As wide as a register of AVX2: GCC makes code that is several
/// times slower of vectors that are wider than the processor's, and the half of AVX-512's is hardly slower.
inline constexpr int kWideBytes = 32;
template <typename T>
using Wide = typename Lanes<T, kWideBytes>::type;
template <typename T>
inline constexpr std::int64_t kWide = kWideBytes / sizeof(T);  // numbers of one

template <typename T>
ST_INLINE void load(Wide<T>& to, const T* from) {
  to = *reinterpret_cast<const typename Lanes<T, kWideBytes>::anywhere*>(from);
}
template <typename T>
ST_INLINE void store(T* to, const Wide<T>& from) {
  *reinterpret_cast<typename Lanes<T, kWideBytes>::anywhere*>(to) = from;
}
template <typename T>
ST_INLINE T total(const Wide<T>& of) {
  alignas(kWideBytes) T sums[kWide<T>];
  store(sums, of);
  for (std::int64_t half = kWide<T> / 2; half > 0;
       half /= 2) {  // each a vector, unlike sums of one after the other
    for (std::int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return sums[0];
}

/// Calls work(i, H) for all of i = 0, ..., count - 1, some at once: those from i to i + H, where H is a
/// constant of at most 5, so that what is computed of each stays in registers.
template <typename Work>
ST_INLINE void some_at_once(std::int64_t count, const Work& work) {
  std::int64_t i = 0;
  for (; i + 5 <= count; i += 5) work(i, std::integral_constant<int, 5>());
  switch (count - i) {
    case 4:
      return work(i, std::integral_constant<int, 4>());
    case 3:
      return work(i, std::integral_constant<int, 3>());
    case 2:
      return work(i, std::integral_constant<int, 2>());
    case 1:
      return work(i, std::integral_constant<int, 1>());
    default:
      return;
  }
}

}  // namespace sentencode::nn
