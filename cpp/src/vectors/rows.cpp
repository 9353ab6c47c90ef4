#include "sentencode/vectors/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/half.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of GCC's own intrinsics: gcc.gnu.org/PR105593
#endif
#include <immintrin.h>
#define ST_X86 1
#else
#define ST_X86 0
#endif

namespace sentencode {
namespace {

template <Storage S>
float element(const std::byte* row, std::int64_t i) {
  if constexpr (S == Storage::float32) {
    float value;
    std::memcpy(&value, row + i * 4, 4);
    return value;
  } else if constexpr (S == Storage::float16) {
    std::uint16_t half;
    std::memcpy(&half, row + i * 2, 2);
    return half_to_float(half);
  } else {
    return static_cast<float>(static_cast<std::int8_t>(row[i]));
  }
}

template <Storage S>
void sum_portable(const std::byte* const* rows, const float* factors, std::int64_t count, std::int64_t dim,
                  float* out) {
  std::fill_n(out, dim, 0.0F);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::byte* row = rows[r];
    if (factors == nullptr) {
      for (std::int64_t i = 0; i < dim; ++i) out[i] += element<S>(row, i);
    } else {
      const float factor = factors[r];
      for (std::int64_t i = 0; i < dim; ++i) out[i] += factor * element<S>(row, i);
    }
  }
}

#if ST_X86
// Sums stay in registers: a strip of `vectors` registers is summed over all rows before the next strip. A
// table with a function for each number of registers lets the compiler unroll the loops over them.

#define ST_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c,fma")))

template <Storage S>
ST_AVX512 inline __m512 load_avx512(const std::byte* at, __mmask16 mask) {
  if constexpr (S == Storage::float32) return _mm512_maskz_loadu_ps(mask, at);
  if constexpr (S == Storage::float16) return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, at));
  if constexpr (S == Storage::int8)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, at)));
}

template <Storage S, bool weighted, int vectors>
ST_AVX512 void strip_avx512(const std::byte* const* rows, const float* factors, std::int64_t count,
                            std::int64_t column, __mmask16 last, float* out) {
  constexpr std::size_t kStep = 16 * (S == Storage::float32 ? 4 : S == Storage::float16 ? 2 : 1);
  const std::size_t offset = static_cast<std::size_t>(column) * kStep / 16;
  const auto mask = [last](int v) { return v == vectors - 1 ? last : static_cast<__mmask16>(0xffff); };
  __m512 sum[vectors];
#pragma GCC unroll 32
  for (int v = 0; v < vectors; ++v) sum[v] = _mm512_setzero_ps();
  for (std::int64_t r = 0; r < count; ++r) {
    const std::byte* row = rows[r] + offset;
    const __m512 factor = weighted ? _mm512_set1_ps(factors[r]) : _mm512_setzero_ps();
#pragma GCC unroll 32
    for (int v = 0; v < vectors; ++v) {
      const __m512 value = load_avx512<S>(row + kStep * static_cast<std::size_t>(v), mask(v));
      sum[v] = weighted ? _mm512_fmadd_ps(factor, value, sum[v]) : _mm512_add_ps(sum[v], value);
    }
  }
#pragma GCC unroll 32
  for (int v = 0; v < vectors; ++v) _mm512_mask_storeu_ps(out + column + 16 * v, mask(v), sum[v]);
}

#define ST_AVX2 __attribute__((target("avx2,f16c,fma")))

/// Loads eight numbers, or `left` < 8, without reading beyond the row.
template <Storage S>
ST_AVX2 inline __m256 load_avx2(const std::byte* at, int left) {
  if constexpr (S == Storage::float32) {
    if (left >= 8) return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
    const __m256i mask =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_maskload_ps(reinterpret_cast<const float*>(at), mask);
  }
  constexpr std::size_t kBytes = S == Storage::float16 ? 2 : 1;
  __m128i bits;
  if (left >= 8) {
    bits = S == Storage::float16 ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(at))
                                 : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
  } else {
    alignas(16) std::byte buffer[16]{};
    std::memcpy(buffer, at, static_cast<std::size_t>(left) * kBytes);
    bits = _mm_load_si128(reinterpret_cast<const __m128i*>(buffer));
  }
  return S == Storage::float16 ? _mm256_cvtph_ps(bits) : _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bits));
}

template <Storage S, bool weighted, int vectors>
ST_AVX2 void strip_avx2(const std::byte* const* rows, const float* factors, std::int64_t count,
                        std::int64_t column, int last, float* out) {
  constexpr std::size_t kStep = 8 * (S == Storage::float32 ? 4 : S == Storage::float16 ? 2 : 1);
  const std::size_t offset = static_cast<std::size_t>(column) * kStep / 8;
  const auto left = [last](int v) { return v == vectors - 1 ? last : 8; };
  __m256 sum[vectors];
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) sum[v] = _mm256_setzero_ps();
  for (std::int64_t r = 0; r < count; ++r) {
    const std::byte* row = rows[r] + offset;
    const __m256 factor = weighted ? _mm256_set1_ps(factors[r]) : _mm256_setzero_ps();
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      const __m256 value = load_avx2<S>(row + kStep * static_cast<std::size_t>(v), left(v));
      sum[v] = weighted ? _mm256_fmadd_ps(factor, value, sum[v]) : _mm256_add_ps(sum[v], value);
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    if (left(v) >= 8) {
      _mm256_storeu_ps(out + column + 8 * v, sum[v]);
    } else {
      alignas(32) float buffer[8];
      _mm256_store_ps(buffer, sum[v]);
      std::memcpy(out + column + 8 * v, buffer, static_cast<std::size_t>(last) * 4);
    }
  }
}

/// Lanes of a register, registers of the widest strip, and the functions for each width.
struct Avx512 {
  static constexpr int kLanes = 16, kMaxVectors = 20;
  static __mmask16 last(int lanes) { return static_cast<__mmask16>((1U << lanes) - 1); }
  using Strip = void (*)(const std::byte* const*, const float*, std::int64_t, std::int64_t, __mmask16,
                         float*);
  template <Storage S, bool weighted, int vectors>
  static constexpr Strip kStrip = strip_avx512<S, weighted, vectors>;
};
struct Avx2 {
  static constexpr int kLanes = 8, kMaxVectors = 12;
  static int last(int lanes) { return lanes; }
  using Strip = void (*)(const std::byte* const*, const float*, std::int64_t, std::int64_t, int, float*);
  template <Storage S, bool weighted, int vectors>
  static constexpr Strip kStrip = strip_avx2<S, weighted, vectors>;
};

template <class Isa, Storage S, bool weighted, int... n>
constexpr auto strips_of(std::integer_sequence<int, n...>) {
  return std::array<typename Isa::Strip, sizeof...(n)>{Isa::template kStrip<S, weighted, n + 1>...};
}

template <class Isa, Storage S>
void sum_strips(const std::byte* const* rows, const float* factors, std::int64_t count, std::int64_t dim,
                float* out) {
  using Widths = std::make_integer_sequence<int, Isa::kMaxVectors>;
  static constexpr auto kWeighted = strips_of<Isa, S, true>(Widths());
  static constexpr auto kPlain = strips_of<Isa, S, false>(Widths());
  const auto& strips = factors != nullptr ? kWeighted : kPlain;
  std::int64_t vectors = (dim + Isa::kLanes - 1) / Isa::kLanes;
  for (std::int64_t column = 0; vectors > 0;) {
    // As few strips as possible, of about the same width: 38 registers are not 12 + 12 + 12 + 2.
    const std::int64_t left = (vectors + Isa::kMaxVectors - 1) / Isa::kMaxVectors;
    const std::int64_t width = (vectors + left - 1) / left;
    const auto lanes =
        static_cast<int>(std::min<std::int64_t>(Isa::kLanes, dim - column - (width - 1) * Isa::kLanes));
    strips[static_cast<std::size_t>(width - 1)](rows, factors, count, column, Isa::last(lanes), out);
    column += width * Isa::kLanes;
    vectors -= width;
  }
}
#endif

const std::array kKernels = {
#if ST_X86
    RowKernels{"avx512",
               __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"),
               {sum_strips<Avx512, Storage::float32>, sum_strips<Avx512, Storage::float16>,
                sum_strips<Avx512, Storage::int8>}},
    RowKernels{"avx2",
               // AVX2 implies F16C, for which not every compiler has a name here.
               __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
               {sum_strips<Avx2, Storage::float32>, sum_strips<Avx2, Storage::float16>,
                sum_strips<Avx2, Storage::int8>}},
#endif
    RowKernels{"portable",
               true,
               {sum_portable<Storage::float32>, sum_portable<Storage::float16>, sum_portable<Storage::int8>}},
};

/// Whether the sum of squares fits a float.
bool has_length(std::span<const float> values, float largest) {
  constexpr float kSafe = 1e15F;  // a sum of its squares fits for any dim
  if (largest < kSafe) return true;
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum <= static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace

bool can_be_stored(std::span<const float> values, Storage storage) {
  float largest = 0.0F;
  bool finite = true;
  for (const float value : values) {
    finite &= std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  return finite && has_length(values, largest) && !(storage == Storage::float16 && largest >= kHalfInfinity);
}

std::string why_not_stored(std::span<const float> values, std::string_view name) {
  const auto said = [&](auto bad, const char* why) {
    return concat("number ", bad - values.begin() + 1, " of the vector of ", name, " is ", *bad, why);
  };
  const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  if (bad != values.end()) return said(bad, ", not a finite number");
  const auto largest = std::max_element(values.begin(), values.end(),
                                        [](float a, float b) { return std::abs(a) < std::abs(b); });
  return said(largest, has_length(values, std::abs(*largest))
                           ? ", too large for float16"
                           : ", too large: squares of such numbers are more than float32 holds");
}

bool store_row(std::span<const float> values, Storage storage, std::byte* row, float* scale) {
  float largest = 0.0F;
  bool finite = true;
  for (const float value : values) {
    finite &= std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  if (!finite || !has_length(values, largest)) return false;
  switch (storage) {
    case Storage::float32:
      std::memcpy(row, values.data(), values.size_bytes());
      break;
    case Storage::float16:
      if (largest >= kHalfInfinity) return false;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t half = float_to_half(values[i]);
        std::memcpy(row + 2 * i, &half, 2);
      }
      break;
    case Storage::int8:
      *scale = largest / 127.0F;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float steps = largest > 0.0F ? std::nearbyint(values[i] / largest * 127.0F) : 0.0F;
        row[i] = static_cast<std::byte>(static_cast<std::int8_t>(steps));
      }
      break;
  }
  return true;
}

std::span<const RowKernels> all_row_kernels() { return kKernels; }

const RowKernels& row_kernels() {
  static const RowKernels& best =
      *std::find_if(kKernels.begin(), kKernels.end(), [](const auto& k) { return k.supported; });
  return best;
}

}  // namespace sentencode
