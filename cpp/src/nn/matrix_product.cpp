#include "nn/matrix_product.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kDepth = 1024;            // summed at once: a panel of y stays in the second cache
constexpr std::int64_t kProducts = 1024 * 1024;  // that a thread is worth
constexpr std::int64_t kManyTiles = 16;          // of each thread

/// What registers hold: M rows of N vectors of `Bytes` are summed at once.
template <int Bytes, int M, int N>
struct Shape {
  static constexpr int bytes = Bytes, rows = M, vectors = N;
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

/// sums [M, N vectors] of x's rows from `row` on.
template <int Bytes, int M, int N, bool Transposed, typename T>
ST_INLINE void sum_up(const Panel<T>& panel, std::int64_t row, T* sums) {
  using Vector = typename Lanes<T, Bytes>::type;
  using Placed = typename Lanes<T, Bytes>::anywhere;
  constexpr std::int64_t kLanes = Bytes / sizeof(T);
  const RowsOf<const T>& x = panel.product->x;
  const T* of[M];
  for (int i = 0; i < M; ++i) of[i] = Transposed ? nullptr : x[row + i] + panel.depth_from;
  Vector sum[M][N] = {};
  for (std::int64_t k = 0; k < panel.depth; ++k) {
    Vector y[N];
    ST_UNROLL
    for (int j = 0; j < N; ++j) y[j] = *reinterpret_cast<const Placed*>(panel.y + (k * N + j) * kLanes);
    const T* const column = Transposed ? x[panel.depth_from + k] + row : nullptr;
    ST_UNROLL
    for (int i = 0; i < M; ++i) {
      const T one = Transposed ? column[i] : of[i][k];
      ST_UNROLL
      for (int j = 0; j < N; ++j) sum[i][j] += one * y[j];
    }
  }
  ST_UNROLL
  for (int i = 0; i < M; ++i) {
    ST_UNROLL
    for (int j = 0; j < N; ++j) *reinterpret_cast<Placed*>(sums + (i * N + j) * kLanes) = sum[i][j];
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

/// Has the caches fetch the rows of y's next panel that are due while rows `row` to `end` are computed.
template <int Width, typename T>
ST_INLINE void fetch_ahead(const Panel<T>& panel, std::int64_t row, std::int64_t end) {
  if (panel.columns_ahead == 0) return;
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const MatrixProduct<T>& p = *panel.product;
  const std::int64_t k_end = std::min(panel.depth, end * panel.depth / p.rows + 1);
  for (std::int64_t k = row * panel.depth / p.rows; k < k_end; ++k) {
    const T* const ahead = p.y[panel.depth_from + k] + panel.column + Width;
    for (std::int64_t j = 0; j < panel.columns_ahead + kLine - 1; j += kLine) {
      __builtin_prefetch(ahead + std::min(j, panel.columns_ahead - 1));
    }
  }
}

/// And M rows of `out`, which are written when their sums are there.
template <int Width, int M, typename T>
ST_INLINE void fetch_out(const Panel<T>& panel, std::int64_t row) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (int i = 0; i < M; ++i) {
    const T* const out = panel.product->out[row + i] + panel.column;
    ST_UNROLL
    for (std::int64_t j = 0; j < Width; j += kLine) __builtin_prefetch(out + j, /*for writing*/ 1);
    __builtin_prefetch(out + panel.columns - 1, 1);
  }
}

/// Rows `row` to `end`: M at once, then half as many, ...
template <int Bytes, int M, int N, bool Transposed, typename T>
ST_INLINE void rows_of(const Panel<T>& panel, std::int64_t row, std::int64_t end) {
  constexpr std::int64_t kWidth = N * Bytes / sizeof(T);
  alignas(64) T sums[M * kWidth];
  for (; row + M <= end; row += M) {
    fetch_ahead<kWidth>(panel, row, row + M);
    fetch_out<kWidth, M>(panel, row);
    sum_up<Bytes, M, N, Transposed>(panel, row, sums);
    for (int i = 0; i < M; ++i) {
      if (panel.columns == kWidth) {
        put(panel, std::integral_constant<std::int64_t, kWidth>(), sums + i * kWidth, row + i);
      } else {
        put(panel, panel.columns, sums + i * kWidth, row + i);
      }
    }
  }
  if constexpr (M > 1) rows_of<Bytes, M / 2, N, Transposed>(panel, row, end);
}

template <typename Shape, int N, typename T>
ST_INLINE void rows_of(const Panel<T>& panel, std::int64_t row, std::int64_t end) {
  fill<N * Shape::bytes / static_cast<int>(sizeof(T))>(panel);
  if (panel.product->x_transposed) {
    rows_of<Shape::bytes, Shape::rows, N, true>(panel, row, end);
  } else {
    rows_of<Shape::bytes, Shape::rows, N, false>(panel, row, end);
  }
}

/// What a product is divided into: panels of columns, as many as registers hold, and in each of them tiles of
/// rows.
struct Tiles {
  std::int64_t lanes, vectors, rows;   // of a vector, of a panel, of a tile
  std::int64_t all_rows, all_vectors;  // of the product
  std::int64_t of_panel;               // tiles
  bool rows_are_shared;                // among threads, each of which then has all panels

  template <typename T>
  Tiles(const MatrixProduct<T>& product, std::int64_t lanes_of, std::int64_t vectors_of, std::int64_t rows_of)
      : lanes(lanes_of),
        vectors(vectors_of),
        rows(rows_of),
        all_rows(product.rows),
        all_vectors((product.columns + lanes - 1) / lanes),
        of_panel((product.rows + rows - 1) / rows),
        // So a thread keeps its rows of x in its cache, if they are many for each time that y is put in
        // order.
        rows_are_shared(!product.x_transposed && of_panel >= kManyTiles * at::get_num_threads()) {}

  /// What threads share: tiles of all panels at once, or vectors of each tile, for the last panel may have
  /// fewer of them.
  std::int64_t work() const { return rows_are_shared ? of_panel : of_panel * all_vectors; }
  std::int64_t work_of_panel() const { return of_panel * vectors; }

  /// The first of a panel's rows that those have who begin with `work`: the tiles that begin there, or
  /// behind.
  std::int64_t row(std::int64_t work, std::int64_t panel, std::int64_t vectors_of) const {
    const std::int64_t behind = std::max<std::int64_t>(0, work - panel * work_of_panel());
    const std::int64_t tile = rows_are_shared ? work : (behind + vectors_of - 1) / vectors_of;
    return std::min(all_rows, tile * rows);
  }
};

template <typename Shape, typename T>
ST_INLINE void multiply_tiles(const MatrixProduct<T>& p, const Tiles& tiles, std::int64_t begin,
                              std::int64_t end, T* y) {
  const std::int64_t panels = (tiles.all_vectors + tiles.vectors - 1) / tiles.vectors;
  const std::int64_t first = tiles.rows_are_shared ? 0 : begin / tiles.work_of_panel();
  const std::int64_t behind = tiles.rows_are_shared ? panels : (end - 1) / tiles.work_of_panel() + 1;
  std::int64_t from = 0;
  do {
    const std::int64_t depth = std::min(kDepth, p.depth - from);
    for (std::int64_t i = first; i < behind; ++i) {
      const std::int64_t vectors = std::min(tiles.vectors, tiles.all_vectors - i * tiles.vectors);
      const std::int64_t row = tiles.row(begin, i, vectors), row_end = tiles.row(end, i, vectors);
      if (row == row_end) continue;
      const std::int64_t width = tiles.vectors * tiles.lanes, column = i * width;
      const bool ahead = !p.y_transposed && i + 1 < behind;
      const Panel<T> panel{.product = &p,
                           .depth_from = from,
                           .depth = depth,
                           .column = column,
                           .columns = std::min(width, p.columns - column),
                           .columns_ahead = ahead ? std::min(width, p.columns - column - width) : 0,
                           .y = y,
                           .first = from == 0,
                           .last = from + depth == p.depth};
      if (vectors == 1) rows_of<Shape, 1>(panel, row, row_end);
      if (vectors == 2) rows_of<Shape, 2>(panel, row, row_end);
      if constexpr (Shape::vectors > 2) {
        if (vectors == 3) rows_of<Shape, 3>(panel, row, row_end);
      }
    }
    from += depth;
  } while (from < p.depth);
}

// What fits the registers of each processor: 32 of 64 bytes, 16 of 32 or, elsewhere, of 16. Functions for
// some processors cannot be templates.
using Widest = Shape<64, 8, 3>;
using Middle = Shape<32, 4, 3>;
using Narrow = Shape<16, 4, 2>;

template <typename T>
struct Version {
  std::int64_t lanes, vectors, rows;
  void (*multiply)(const MatrixProduct<T>&, const Tiles&, std::int64_t, std::int64_t, T*);
};
template <typename Shape, typename T>
constexpr Version<T> version(decltype(Version<T>::multiply) multiply) {
  return {Shape::bytes / static_cast<std::int64_t>(sizeof(T)), Shape::vectors, Shape::rows, multiply};
}

#define ST_PRODUCTS_OF(T, name, shape, target)                                                          \
  target void name(const MatrixProduct<T>& p, const Tiles& tiles, std::int64_t begin, std::int64_t end, \
                   T* y) {                                                                              \
    multiply_tiles<shape>(p, tiles, begin, end, y);                                                     \
  }
#define ST_PRODUCTS(name, shape, target)     \
  ST_PRODUCTS_OF(float, name, shape, target) \
  ST_PRODUCTS_OF(double, name, shape, target)
ST_PRODUCTS(multiply_anywhere, Narrow, )
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ST_PRODUCTS(multiply_v3, Middle, __attribute__((target("arch=x86-64-v3"))))
ST_PRODUCTS(multiply_v4, Widest, __attribute__((target("arch=x86-64-v4"))))
#endif

template <typename T>
Version<T> version_of_processor() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (__builtin_cpu_supports("x86-64-v4")) return version<Widest, T>(multiply_v4);
  if (__builtin_cpu_supports("x86-64-v3")) return version<Middle, T>(multiply_v3);
#endif
  return version<Narrow, T>(multiply_anywhere);
}

}  // namespace

template <typename T>
void multiply_on_cpu(const MatrixProduct<T>& product) {
  static const Version<T> version = version_of_processor<T>();
  const Tiles tiles(product, version.lanes, version.vectors, version.rows);
  if (tiles.work() == 0) return;
  const std::int64_t each = version.rows * version.lanes * std::max<std::int64_t>(1, product.depth) *
                            (tiles.rows_are_shared ? tiles.all_vectors : 1);
  at::parallel_for(0, tiles.work(), std::max<std::int64_t>(1, kProducts / each), [&](auto begin, auto end) {
    const auto size = std::min(kDepth, product.depth) * version.vectors * version.lanes;
    const std::unique_ptr<T[]> y(new T[static_cast<std::size_t>(size)]);
    version.multiply(product, tiles, begin, end, y.get());
  });
}

template void multiply_on_cpu(const MatrixProduct<float>& product);
template void multiply_on_cpu(const MatrixProduct<double>& product);

}  // namespace sentencode::nn
