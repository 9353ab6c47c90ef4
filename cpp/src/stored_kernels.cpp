#include "sentencode/stored_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sentencode/half.h"

// Plain loops and vectors of the compiler, which are compiled once for each instruction set: functions that
// are always inlined take over the instruction set of their caller.
#define ST_INLINE inline __attribute__((always_inline))

namespace sentencode {
namespace {

constexpr std::int64_t kLanes = kPanelRows;

/// The operations and their order are those of NumPy in sentence-transformers: other roundings give other
/// steps.
ST_INLINE void to_steps(const float* row, std::int64_t dim, const Ranges& ranges, std::uint8_t offset,
                        std::byte* out) {
  const float *least = ranges.least.data(), *divisor = ranges.divisor.data();
  for (std::int64_t j = 0; j < dim; ++j) {
    const float step = std::clamp((row[j] - least[j]) / divisor[j], 0.0F, 255.0F);
    out[j] = static_cast<std::byte>(static_cast<std::int32_t>(step) + offset);
  }
}

ST_INLINE void to_bits(const float* row, std::int64_t dim, std::uint8_t offset, std::byte* out) {
  for (std::int64_t first = 0; first < dim; first += 8) {
    std::uint8_t positive[8] = {};
    const std::int64_t count = std::min<std::int64_t>(8, dim - first);
    for (std::int64_t j = 0; j < count; ++j) positive[j] = static_cast<std::uint8_t>(row[first + j] > 0.0F);
    std::uint64_t bytes;
    std::memcpy(&bytes, positive, 8);
    // Byte j of the little-endian number becomes bit 7 - j of the highest byte.
    out[first / 8] = static_cast<std::byte>((bytes * 0x8040201008040201U >> 56) + offset);
  }
}

template <Precision P>
ST_INLINE void store_row(const float* row, std::int64_t dim, [[maybe_unused]] const Ranges* ranges,
                         std::byte* out) {
  if constexpr (P == Precision::float32) {
    std::memcpy(out, row, sizeof(float) * static_cast<std::size_t>(dim));
  } else if constexpr (P == Precision::float16) {
    for (std::int64_t j = 0; j < dim; ++j) {
      const std::uint16_t half = float_to_half(row[j]);
      std::memcpy(out + 2 * j, &half, 2);
    }
  } else if constexpr (has_ranges(P)) {
    to_steps(row, dim, *ranges, byte_offset(P), out);
  } else {
    to_bits(row, dim, byte_offset(P), out);
  }
}

/// Transposes four rows [dim] into lanes `lane` to `lane` + 3.
ST_INLINE void transpose_four(const float* const* rows, std::int64_t dim, std::int64_t lane,
                              PanelColumn<float>* panel) {
  using Four = float __attribute__((vector_size(16)));
  std::int64_t j = 0;
  for (; j + 4 <= dim; j += 4) {
    Four x[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&x[i], rows[i] + j, sizeof(Four));
    const Four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    const Four b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    const Four c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    const Four d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    const Four columns[4] = {
        __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
        __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
    for (int i = 0; i < 4; ++i) std::memcpy(panel[j + i].rows + lane, &columns[i], sizeof(Four));
  }
  for (; j < dim; ++j) {
    for (int i = 0; i < 4; ++i) panel[j].rows[lane + i] = rows[i][j];
  }
}

/// Panels are read faster than processors foresee the next one.
ST_INLINE void prefetch(const StoredRows& rows, std::int64_t first, std::int64_t count) {
  const std::int64_t bytes = stored_bytes(rows.precision, rows.dim);
  for (std::int64_t i = first; i < std::min(first + count, rows.rows); ++i) {
    for (std::int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(rows.row(i) + b);
  }
}

template <Precision P>
ST_INLINE void load_floats(const StoredRows& rows, std::int64_t first, std::int64_t count,
                           PanelColumn<float>* panel) {
  std::vector<float> buffer(static_cast<std::size_t>((P == Precision::float16 ? 5 : 1) * rows.dim));
  float* const zeros = buffer.data();
  for (std::int64_t lane = 0; lane < kLanes; lane += 4) {
    prefetch(rows, first + kLanes + lane, 4);
    const float* four[4] = {zeros, zeros, zeros, zeros};
    for (std::int64_t i = 0; i < 4 && lane + i < count; ++i) {
      const std::byte* row = rows.row(first + lane + i);
      if constexpr (P == Precision::float16) {
        float* out = zeros + (i + 1) * rows.dim;
        for (std::int64_t j = 0; j < rows.dim; ++j) {
          std::uint16_t half;
          std::memcpy(&half, row + 2 * j, 2);
          out[j] = half_to_float(half);
        }
        four[i] = out;
      } else {
        four[i] = reinterpret_cast<const float*>(row);
      }
    }
    transpose_four(four, rows.dim, lane, panel);
  }
}

/// Four bytes of each row are loaded as one number, whose bytes are four columns.
template <Precision P>
ST_INLINE void load_steps(const StoredRows& rows, std::int64_t first, std::int64_t count,
                          PanelColumn<float>* panel) {
  constexpr std::uint32_t kOffsets = byte_offset(P) * 0x01010101U;
  const float *step = rows.ranges->step.data(), *middle = rows.ranges->middle.data();
  prefetch(rows, first + kLanes, kLanes);
  std::uint32_t four[kLanes] = {};
  for (std::int64_t j = 0; j < rows.dim; j += 4) {
    const std::int64_t bytes = std::min<std::int64_t>(4, rows.dim - j);
    if (bytes == 4 && count == kLanes) {
      for (std::int64_t i = 0; i < kLanes; ++i) std::memcpy(&four[i], rows.row(first + i) + j, 4);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(&four[i], rows.row(first + i) + j, static_cast<std::size_t>(bytes));
      }
    }
    for (std::int64_t k = 0; k < bytes; ++k) {
      float* column = panel[j + k].rows;
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const auto byte = static_cast<std::int32_t>(((four[i] ^ kOffsets) >> (8 * k)) & 255U);
        column[i] = middle[j + k] + step[j + k] * static_cast<float>(byte);
      }
    }
  }
  if (count == kLanes) return;
  for (std::int64_t j = 0; j < rows.dim; ++j) std::fill(panel[j].rows + count, panel[j].rows + kLanes, 0.0F);
}

template <Precision P>
ST_INLINE void load_panel(const StoredRows& rows, std::int64_t first, std::int64_t count,
                          PanelColumn<float>* panel) {
  if constexpr (has_ranges(P)) load_steps<P>(rows, first, count, panel);
  if constexpr (!has_ranges(P)) load_floats<P>(rows, first, count, panel);
}

/// Sixteen floats are added in float, their sums in double.
ST_INLINE void squares_of(const PanelColumn<float>* panel, std::int64_t dim, double* out) {
  std::fill_n(out, kLanes, 0.0);
  for (std::int64_t first = 0; first < dim; first += 16) {
    float sum[kLanes] = {};
    for (std::int64_t j = first; j < std::min(first + 16, dim); ++j) {
      for (std::int64_t i = 0; i < kLanes; ++i) sum[i] += panel[j].rows[i] * panel[j].rows[i];
    }
    for (std::int64_t i = 0; i < kLanes; ++i) out[i] += static_cast<double>(sum[i]);
  }
}

template <int bytes>
struct VectorOf {
  typedef float Type
      __attribute__((vector_size(bytes), may_alias));  // GCC ignores the size in a dependent `using`
};

/// Sums stay in registers: n queries times 32 lanes in vectors of `bytes`.
template <int bytes, int n>
ST_INLINE void multiply(const float* queries, const PanelColumn<float>* panel, std::int64_t dim,
                        const float* factors, float* out, std::int64_t stride) {
  using V = typename VectorOf<bytes>::Type;
  static_assert(sizeof(V) == bytes);
  constexpr int kVectors = static_cast<int>(kLanes) * 4 / bytes;
  V sum[n][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[i][v] = V{};
  }
  for (std::int64_t j = 0; j < dim; ++j) {
    const V* column = reinterpret_cast<const V*>(panel[j].rows);
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[i][v] += queries[j * n + i] * column[v];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      V factor;
      std::memcpy(&factor, factors + v * bytes / 4, sizeof factor);
      const V score = factor * sum[i][v];
      std::memcpy(out + i * stride + v * bytes / 4, &score, sizeof score);
    }
  }
}

ST_INLINE void count_bits(const std::uint64_t* query, const PanelColumn<std::uint64_t>* panel,
                          std::int64_t words, float same, float each, float* out) {
  std::uint64_t count[kLanes] = {};
  for (std::int64_t w = 0; w < words; ++w) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      count[i] += static_cast<std::uint64_t>(std::popcount(query[w] ^ panel[w].rows[i]));
    }
  }
  for (std::int64_t i = 0; i < kLanes; ++i) {
    out[i] = same + each * static_cast<float>(static_cast<std::int32_t>(count[i]));
  }
}

/// The loops for an instruction set: vectors of `bytes`, n queries at a time.
#define ST_LOOPS(Name, target, bytes, n)                                                                 \
  struct Name {                                                                                          \
    template <Precision P>                                                                               \
    target static void store(const float* row, std::int64_t dim, const Ranges* ranges, std::byte* out) { \
      store_row<P>(row, dim, ranges, out);                                                               \
    }                                                                                                    \
    template <Precision P>                                                                               \
    target static void load(const StoredRows& rows, std::int64_t first, std::int64_t count,              \
                            PanelColumn<float>* panel) {                                                 \
      load_panel<P>(rows, first, count, panel);                                                          \
    }                                                                                                    \
    target static void squares(const PanelColumn<float>* panel, std::int64_t dim, double* out) {         \
      squares_of(panel, dim, out);                                                                       \
    }                                                                                                    \
    template <int queries>                                                                               \
    target static void scores(const float* q, const PanelColumn<float>* panel, std::int64_t dim,         \
                              const float* factors, float* out, std::int64_t stride) {                   \
      multiply<bytes, queries>(q, panel, dim, factors, out, stride);                                     \
    }                                                                                                    \
    target static void hamming(const std::uint64_t* query, const PanelColumn<std::uint64_t>* panel,      \
                               std::int64_t words, float same, float each, float* out) {                 \
      count_bits(query, panel, words, same, each, out);                                                  \
    }                                                                                                    \
    static constexpr std::int64_t kGroup = n;                                                            \
  }

ST_LOOPS(Portable, , 16, 1);

template <class Loops>
StoredKernels kernels_of(std::string_view name, bool supported) {
  using enum Precision;
  return {name,
          supported,
          {Loops::template store<float32>, Loops::template store<float16>, Loops::template store<int8>,
           Loops::template store<uint8>, Loops::template store<binary>, Loops::template store<ubinary>},
          {Loops::template load<float32>, Loops::template load<float16>, Loops::template load<int8>,
           Loops::template load<uint8>},
          Loops::squares,
          Loops::template scores<Loops::kGroup>,
          Loops::template scores<1>,
          Loops::kGroup,
          Loops::hamming};
}

#if defined(__x86_64__)
#define ST_AVX512_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c,fma,popcnt,prefer-vector-width=512"
ST_LOOPS(Avx512, __attribute__((target(ST_AVX512_TARGET))), 64, 12);
ST_LOOPS(Avx512Popcount, __attribute__((target(ST_AVX512_TARGET ",avx512vpopcntdq"))), 64, 12);
ST_LOOPS(Avx2, __attribute__((target("avx2,f16c,fma,popcnt"))), 32, 3);

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

}  // namespace

std::span<const StoredKernels> all_stored_kernels() {
  static const std::array kAll = {
#if defined(__x86_64__)
    kernels_of<Avx512Popcount>("avx512 with popcount",
                               has_avx512() && __builtin_cpu_supports("avx512vpopcntdq")),
    kernels_of<Avx512>("avx512", has_avx512()),
    kernels_of<Avx2>("avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")),
#endif
    kernels_of<Portable>("portable", true),
  };
  return kAll;
}

const StoredKernels& stored_kernels() {
  static const StoredKernels& kBest = *std::ranges::find_if(all_stored_kernels(), &StoredKernels::supported);
  return kBest;
}

}  // namespace sentencode
