// What all loops of matrix products have in common: panels of y in order, and sums that go where they belong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "nn/matrix_product.h"
#include "nn/vectorised.h"

namespace sentencode::nn {

inline constexpr std::int64_t kDepth = 1024;  // summed at once: a panel of y stays in the second cache

/// What registers hold: M rows of N vectors of `Bytes` are summed at once, or, where zeros are left out,
/// `Alone` vectors of one row.
template <int Bytes, int M, int N, int Alone>
struct Shape {
  static constexpr int bytes = Bytes, rows = M, vectors = N, alone = Alone;
};

/// A part of a product: some of its depth, of which y is a panel in order, and of its columns.
template <typename T>
struct Panel {
  const MatrixProduct<T>* product;
  std::int64_t depth_from, depth, column, columns;
  std::int64_t columns_ahead;  // of the next panel, which are fetched meanwhile
  T* y;                        // [depth, columns rounded up to whole vectors], zero beyond them
  bool first, last;
};

/// Eight numbers from `at` on of eight rows, as eight rows of `to`.
template <typename T>
ST_INLINE void turn(const T* const* rows, std::int64_t at, T* to, std::int64_t stride) {
  using Eight = typename Lanes<T, 8 * sizeof(T)>::type;
  Eight a[8], b[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&a[i], rows[i] + at, sizeof a[i]);
  // Rows i and i + 4 shuffled into each other, three times, are the transpose.
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::copy(b, b + 8, a);
  }
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * stride, &a[i], sizeof a[i]);
}

template <int Width, typename T>
ST_INLINE void fill(const Panel<T>& panel) {
  const MatrixProduct<T>& p = *panel.product;
  if (!p.y_transposed) {
    for (std::int64_t k = 0; k < panel.depth; ++k) {
      const T* const from = p.y[panel.depth_from + k] + panel.column;
      T* const to = panel.y + k * Width;
      if (panel.columns == Width) {
        std::memcpy(to, from, Width * sizeof(T));
      } else {
        std::fill(std::copy_n(from, panel.columns, to), to + Width, T(0));
      }
    }
    return;
  }
  std::fill_n(panel.y, panel.columns == Width ? 0 : panel.depth * Width, T(0));
  constexpr int kSome = 8;  // rows and columns that are turned at once, in registers
  std::int64_t j = 0;
  for (; j + kSome <= panel.columns; j += kSome) {
    const T* from[kSome];
    for (int i = 0; i < kSome; ++i) from[i] = p.y[panel.column + j + i] + panel.depth_from;
    std::int64_t k = 0;
    for (; k + kSome <= panel.depth; k += kSome) turn(from, k, panel.y + k * Width + j, Width);
    for (; k < panel.depth; ++k) {
      for (int i = 0; i < kSome; ++i) panel.y[k * Width + j + i] = from[i][k];
    }
  }
  for (; j < panel.columns; ++j) {
    const T* const from = p.y[panel.column + j] + panel.depth_from;
    for (std::int64_t k = 0; k < panel.depth; ++k) panel.y[k * Width + j] = from[k];
  }
}

/// Writes sums of some columns of a row to where they belong.
template <typename T, typename Count>
ST_INLINE void put(const Panel<T>& panel, Count columns, const T* __restrict sums, std::int64_t row) {
  const MatrixProduct<T>& p = *panel.product;
  T* __restrict const out = p.out[row] + panel.column;
  if (panel.first && !p.add) {
    for (std::int64_t j = 0; j < columns; ++j) out[j] = sums[j];
  } else {
    for (std::int64_t j = 0; j < columns; ++j) out[j] += sums[j];
  }
  if (!panel.last) return;
  if (p.bias != nullptr) {
    const T* __restrict const bias = p.bias + panel.column;
    for (std::int64_t j = 0; j < columns; ++j) out[j] += bias[j];
  }
  if (p.activation == Activation::relu) {
    for (std::int64_t j = 0; j < columns; ++j) out[j] = out[j] < 0 ? T(0) : out[j];  // NaN stays
  } else if (p.activation == Activation::tanh) {
    for (std::int64_t j = 0; j < columns; ++j) out[j] = tanh_of(out[j]);
  }
}

/// Has the caches fetch `columns` numbers, which are going to be written if `Write`.
template <int Width, bool Write, typename T>
ST_INLINE void fetch(const T* row, std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  ST_UNROLL
  for (std::int64_t j = 0; j < Width; j += kLine) __builtin_prefetch(row + j, Write);
  __builtin_prefetch(row + columns - 1, Write);
}

/// Has the caches fetch M rows of `out`, which are written when their sums are there.
template <int Width, int M, typename T>
ST_INLINE void fetch_out(const Panel<T>& panel, std::int64_t row) {
  for (int i = 0; i < M; ++i) {
    fetch<Width, true>(panel.product->out[row + i] + panel.column, panel.columns);
  }
}

}  // namespace sentencode::nn
