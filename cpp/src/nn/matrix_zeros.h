// Matrix products that leave out what is multiplied with zero.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "nn/matrix_panel.h"
#include "nn/matrix_product.h"
#include "nn/vectorised.h"

namespace sentencode::nn {

inline constexpr std::int64_t kBits = 64;         // of a word; so many rows of y about fill the first cache
inline constexpr std::int64_t kRowsAtOnce = 384;  // whose sums stay in the second cache
// Vectors of columns; with fewer, each sum waits for the one before it.
inline constexpr std::int64_t kFewestVectors = 4;

inline std::int64_t words_of(std::int64_t depth) { return (depth + kBits - 1) / kBits; }

/// Sets a bit of marks[i] if x[i] is not zero, for Count numbers.
template <int Count, typename T>
ST_INLINE void mark(const T* x, std::int64_t bit, std::uint64_t* marks) {
  for (int i = 0; i < Count; ++i) marks[i] |= static_cast<std::uint64_t>(x[i] != 0) << bit;
}

/// Which of 64 numbers are not zero.
template <typename T>
ST_INLINE std::uint64_t word_of(const T* x) {
  constexpr int kSome = 16;
  std::uint64_t marks[kSome] = {};
  for (int bit = 0; bit < kBits; bit += kSome) mark<kSome>(x + bit, bit, marks);
  for (int i = 0; i < kSome; ++i) marks[i] <<= i;
  for (int i = 0; i < 8; ++i) marks[i] |= marks[i + 8];
  for (int i = 0; i < 4; ++i) marks[i] |= marks[i + 4];
  return marks[0] | marks[1] | marks[2] | marks[3];
}

/// `words` [rows, words_of(depth)]: which of the numbers of x's rows are not zero. Returns how many. Vectors
/// that would reach too far begin earlier.
template <typename T>
ST_INLINE std::int64_t find_numbers(const MatrixProduct<T>& p, std::uint64_t* words) {
  const std::int64_t of_row = words_of(p.depth);
  for (std::int64_t word = 0; word < of_row; ++word) {
    const std::int64_t from = word * kBits, depth = std::min(kBits, p.depth - from);
    if (p.x_transposed) {
      constexpr std::int64_t kSome = 16;
      for (std::int64_t i = 0; i < p.rows; i += kSome) {
        std::uint64_t marks[kSome] = {};
        const std::int64_t row = std::max<std::int64_t>(0, std::min(i, p.rows - kSome));
        for (std::int64_t k = 0; k < depth; ++k) {
          const T* const x = p.x[from + k] + row;
          if (p.rows >= kSome) {
            mark<kSome>(x, k, marks);
          } else {
            for (std::int64_t j = 0; j < p.rows; ++j) mark<1>(x + j, k, marks + j);
          }
        }
        for (std::int64_t j = row; j < std::min(p.rows, row + kSome); ++j) {
          words[j * of_row + word] = marks[j - row];
        }
      }
    } else {
      for (std::int64_t row = 0; row < p.rows; ++row) {
        std::uint64_t marks = 0;
        if (p.depth >= kBits) {
          marks = word_of(p.x[row] + from + depth - kBits) >> (kBits - depth);
        } else {
          for (std::int64_t k = 0; k < depth; ++k) mark<1>(p.x[row] + k, k, &marks);
        }
        words[row * of_row + word] = marks;
      }
    }
  }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < p.rows * of_row; ++i) count += std::popcount(words[i]);
  return count;
}

/// sums [N vectors] += x y, of those of x's numbers that are marked.
template <int Bytes, int N, typename T>
ST_INLINE void add_marked(std::uint64_t marks, const T* x, std::int64_t stride, const T* y, T* sums) {
  using Vector = typename Lanes<T, Bytes>::type;
  using Placed = typename Lanes<T, Bytes>::anywhere;
  constexpr std::int64_t kLanes = Bytes / sizeof(T);
  Vector sum[N];
  ST_UNROLL
  for (int j = 0; j < N; ++j) sum[j] = *reinterpret_cast<const Placed*>(sums + j * kLanes);
  for (; marks != 0; marks &= marks - 1) {
    const std::int64_t k = std::countr_zero(marks);
    const T one = x[k * stride];
    const T* const of = y + k * N * kLanes;
    ST_UNROLL
    for (int j = 0; j < N; ++j) sum[j] += one * *reinterpret_cast<const Placed*>(of + j * kLanes);
  }
  ST_UNROLL
  for (int j = 0; j < N; ++j) *reinterpret_cast<Placed*>(sums + j * kLanes) = sum[j];
}

/// What is found of the rows, and memory for them.
template <typename T>
struct Marked {
  const std::uint64_t* words;  // [rows, words_of(depth)]
  T *y, *sums;  // [64, N vectors], [rows, N vectors]; each begins where a line of the cache does
};

/// N vectors of columns, from `column` on.
template <typename Shape, int N, typename T>
ST_INLINE void multiply_marked(const MatrixProduct<T>& p, std::int64_t column, const Marked<T>& marked) {
  constexpr std::int64_t kWidth = N * Shape::bytes / sizeof(T);
  const std::int64_t of_row = words_of(p.depth), stride = p.x_transposed ? p.x.stride : 1;
  for (std::int64_t from = 0; from < p.depth || from == 0; from += kDepth) {
    const std::int64_t end = std::min(p.depth, from + kDepth);
    Panel<T> panel{.product = &p,
                   .depth_from = from,
                   .depth = 0,
                   .column = column,
                   .columns = std::min(kWidth, p.columns - column),
                   .columns_ahead = 0,
                   .y = marked.y,
                   .first = from == 0,
                   .last = end == p.depth};
    std::fill_n(marked.sums, p.rows * kWidth, T(0));
    for (; panel.depth_from < end; panel.depth_from += kBits) {
      panel.depth = std::min(kBits, end - panel.depth_from);
      fill<kWidth>(panel);
      const bool is_last = panel.depth_from + kBits >= end;
      std::int64_t behind = panel.depth_from + kBits, due = 0;
      for (std::int64_t row = 0; row < p.rows; ++row) {
        if (is_last) {
          fetch_out<kWidth, 1>(panel, row);
        } else if (!p.y_transposed) {  // meanwhile the caches fetch the next rows of y
          for (due += kBits; due >= p.rows && behind < end; due -= p.rows) {
            fetch<kWidth, false>(p.y[behind++] + column, panel.columns);
          }
        }
        const T* const x = p.x_transposed ? p.x[panel.depth_from] + row : p.x[row] + panel.depth_from;
        add_marked<Shape::bytes, N>(marked.words[row * of_row + panel.depth_from / kBits], x, stride,
                                    marked.y, marked.sums + row * kWidth);
      }
    }
    for (std::int64_t row = 0; row < p.rows; ++row) {
      if (panel.columns == kWidth) {
        put(panel, std::integral_constant<std::int64_t, kWidth>(), marked.sums + row * kWidth, row);
      } else {
        put(panel, panel.columns, marked.sums + row * kWidth, row);
      }
    }
  }
}

template <typename Shape, int N, typename T>
ST_INLINE void multiply_marked(const MatrixProduct<T>& p, std::int64_t column, std::int64_t vectors,
                               const Marked<T>& marked) {
  if (vectors == N) return multiply_marked<Shape, N>(p, column, marked);
  if constexpr (N > kFewestVectors) multiply_marked<Shape, N - 1>(p, column, vectors, marked);
}

/// All columns, in panels that are about equally wide, of at least `kFewestVectors`.
template <typename Shape, typename T>
ST_INLINE void multiply_marked(const MatrixProduct<T>& p, const Marked<T>& marked) {
  constexpr std::int64_t kLanes = Shape::bytes / sizeof(T);
  const std::int64_t vectors = (p.columns + kLanes - 1) / kLanes;
  const std::int64_t panels = (vectors + Shape::alone - 1) / Shape::alone;
  for (std::int64_t i = 0; i < panels; ++i) {
    const std::int64_t from = i * vectors / panels;
    multiply_marked<Shape, Shape::alone>(p, from * kLanes, (i + 1) * vectors / panels - from, marked);
  }
}

}  // namespace sentencode::nn
