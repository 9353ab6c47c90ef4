#include "nn/matrix_product.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kDepth = 1024;            // summed at once: a panel of y stays in the second cache
constexpr std::int64_t kProducts = 1024 * 1024;  // that a thread is worth
constexpr std::int64_t kManyTiles = 16;          // of each thread

// Where x has many zeros:
constexpr std::int64_t kBits = 64;        // numbers of x whose rows of y stay in the first cache
constexpr std::int64_t kMostRows = 256;   // whose sums stay in the second one
constexpr std::int64_t kFewestRows = 16;  // that pay for putting y in order
constexpr std::int64_t kFewVectors = 4;   // of columns: there is nothing else to do while one is summed
constexpr double kFewZeros = 0.3;         // of all numbers: fewer are multiplied like the others

/// What registers hold: M rows of N vectors of `Bytes` are summed at once, or of one row with zeros `Alone`
/// vectors.
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

/// And `columns` numbers that may be written.
template <int Width, bool Write, typename T>
ST_INLINE void fetch(const T* row, std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  ST_UNROLL
  for (std::int64_t j = 0; j < Width; j += kLine) __builtin_prefetch(row + j, Write);
  __builtin_prefetch(row + columns - 1, Write);
}

/// And M rows of `out`, which are written when their sums are there.
template <int Width, int M, typename T>
ST_INLINE void fetch_out(const Panel<T>& panel, std::int64_t row) {
  for (int i = 0; i < M; ++i) {
    fetch<Width, true>(panel.product->out[row + i] + panel.column, panel.columns);
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

/// A bit for each of Count numbers of x that is not zero: at `bit` of found[i] for the i-th.
template <int Count, typename T>
ST_INLINE void find_numbers(const T* x, std::int64_t bit, std::uint64_t* found) {
  for (int i = 0; i < Count; ++i) found[i] |= static_cast<std::uint64_t>(x[i] != 0) << bit;
}

/// Of 64 numbers.
template <typename T>
ST_INLINE std::uint64_t find_numbers(const T* x) {
  constexpr int kSome = 16;
  std::uint64_t found[kSome] = {};
  for (int bit = 0; bit < kBits; bit += kSome) find_numbers<kSome>(x + bit, bit, found);
  for (int i = 0; i < kSome; ++i) found[i] <<= i;
  for (int i = 0; i < 8; ++i) found[i] |= found[i + 8];
  for (int i = 0; i < 4; ++i) found[i] |= found[i + 4];
  return found[0] | found[1] | found[2] | found[3];
}

/// `bits` [rows, words]: which of the numbers of x's rows, 64 of each after the other, are not zero. Returns
/// how many. Vectors that would reach too far begin earlier.
template <typename T>
ST_INLINE std::int64_t find_numbers(const MatrixProduct<T>& p, std::uint64_t* bits) {
  const std::int64_t words = (p.depth + kBits - 1) / kBits;
  for (std::int64_t word = 0; word < words; ++word) {
    const std::int64_t from = word * kBits, depth = std::min(kBits, p.depth - from);
    if (p.x_transposed) {
      constexpr std::int64_t kSome = 16;
      for (std::int64_t i = 0; i < p.rows; i += kSome) {
        std::uint64_t found[kSome] = {};
        const std::int64_t row = std::max<std::int64_t>(0, std::min(i, p.rows - kSome));
        for (std::int64_t k = 0; k < depth; ++k) {
          const T* const x = p.x[from + k] + row;
          if (p.rows >= kSome) {
            find_numbers<kSome>(x, k, found);
          } else {
            for (std::int64_t j = 0; j < p.rows; ++j) find_numbers<1>(x + j, k, found + j);
          }
        }
        for (std::int64_t j = row; j < std::min(p.rows, row + kSome); ++j) {
          bits[j * words + word] = found[j - row];
        }
      }
    } else {
      for (std::int64_t row = 0; row < p.rows; ++row) {
        std::uint64_t found = 0;
        if (p.depth >= kBits) {
          found = find_numbers(p.x[row] + from + depth - kBits) >> (kBits - depth);
        } else {
          for (std::int64_t k = 0; k < depth; ++k) find_numbers<1>(p.x[row] + k, k, &found);
        }
        bits[row * words + word] = found;
      }
    }
  }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < p.rows * words; ++i) count += std::popcount(bits[i]);
  return count;
}

/// sums [N vectors] += x y, of those of x's numbers that have a bit.
template <int Bytes, int N, typename T>
ST_INLINE void add_numbers(std::uint64_t bits, const T* x, std::int64_t stride, const T* y, T* sums) {
  using Vector = typename Lanes<T, Bytes>::type;
  using Placed = typename Lanes<T, Bytes>::anywhere;
  constexpr std::int64_t kLanes = Bytes / sizeof(T);
  Vector sum[N];
  ST_UNROLL
  for (int j = 0; j < N; ++j) sum[j] = *reinterpret_cast<const Placed*>(sums + j * kLanes);
  for (; bits != 0; bits &= bits - 1) {
    const std::int64_t k = std::countr_zero(bits);
    const T one = x[k * stride];
    const T* const of = y + k * N * kLanes;
    ST_UNROLL
    for (int j = 0; j < N; ++j) sum[j] += one * *reinterpret_cast<const Placed*>(of + j * kLanes);
  }
  ST_UNROLL
  for (int j = 0; j < N; ++j) *reinterpret_cast<Placed*>(sums + j * kLanes) = sum[j];
}

/// Memory for rows whose zeros are left out.
template <typename T>
struct NumbersMemory {
  std::uint64_t* bits;  // [rows, words]
  T *y, *sums;          // [64, N vectors], [rows, N vectors], at the beginning of lines of the cache
};

/// N vectors of columns, from `column` on.
template <typename Shape, int N, typename T>
ST_INLINE void multiply_numbers(const MatrixProduct<T>& p, std::int64_t column,
                                const NumbersMemory<T>& memory) {
  constexpr std::int64_t kWidth = N * Shape::bytes / sizeof(T);
  const std::int64_t words = (p.depth + kBits - 1) / kBits, stride = p.x_transposed ? p.x.stride : 1;
  for (std::int64_t from = 0; from < p.depth || from == 0; from += kDepth) {
    const std::int64_t end = std::min(p.depth, from + kDepth);
    Panel<T> panel{.product = &p,
                   .depth_from = from,
                   .depth = 0,
                   .column = column,
                   .columns = std::min(kWidth, p.columns - column),
                   .columns_ahead = 0,
                   .y = memory.y,
                   .first = from == 0,
                   .last = end == p.depth};
    std::fill_n(memory.sums, p.rows * kWidth, T(0));
    for (; panel.depth_from < end; panel.depth_from += kBits) {
      panel.depth = std::min(kBits, end - panel.depth_from);
      fill<kWidth>(panel);
      std::int64_t behind = panel.depth_from + kBits, due = 0;
      for (std::int64_t row = 0; row < p.rows; ++row) {
        if (behind >= end) {
          fetch_out<kWidth, 1>(panel, row);
        } else if (!p.y_transposed) {  // meanwhile the caches fetch the next rows of y
          for (due += kBits; due >= p.rows && behind < end; due -= p.rows) {
            fetch<kWidth, false>(p.y[behind++] + column, panel.columns);
          }
        }
        const T* const x = p.x_transposed ? p.x[panel.depth_from] + row : p.x[row] + panel.depth_from;
        add_numbers<Shape::bytes, N>(memory.bits[row * words + panel.depth_from / kBits], x, stride, memory.y,
                                     memory.sums + row * kWidth);
      }
    }
    for (std::int64_t row = 0; row < p.rows; ++row) {
      if (panel.columns == kWidth) {
        put(panel, std::integral_constant<std::int64_t, kWidth>(), memory.sums + row * kWidth, row);
      } else {
        put(panel, panel.columns, memory.sums + row * kWidth, row);
      }
    }
  }
}

template <typename Shape, int N, typename T>
ST_INLINE void multiply_numbers(const MatrixProduct<T>& p, std::int64_t column, std::int64_t vectors,
                                const NumbersMemory<T>& memory) {
  if (vectors == N) return multiply_numbers<Shape, N>(p, column, memory);
  if constexpr (N > 1) multiply_numbers<Shape, N - 1>(p, column, vectors, memory);
}

/// All columns, in panels that are about equally wide. False if too few of x's numbers are zero.
template <typename Shape, typename T>
ST_INLINE bool multiply_without_zeros(const MatrixProduct<T>& p, const NumbersMemory<T>& memory) {
  const auto numbers = static_cast<double>(find_numbers(p, memory.bits));
  if (numbers > (1 - kFewZeros) * static_cast<double>(p.rows * p.depth)) return false;
  constexpr std::int64_t kLanes = Shape::bytes / sizeof(T);
  const std::int64_t vectors = (p.columns + kLanes - 1) / kLanes;
  const std::int64_t panels = (vectors + Shape::alone - 1) / Shape::alone;
  for (std::int64_t i = 0; i < panels; ++i) {
    const std::int64_t from = i * vectors / panels;
    multiply_numbers<Shape, Shape::alone>(p, from * kLanes, (i + 1) * vectors / panels - from, memory);
  }
  return true;
}

// What fits the registers of each processor: 32 of 64 bytes, 16 of 32 or, elsewhere, of 16. Functions for
// some processors cannot be templates.
using Widest = Shape<64, 8, 3, 8>;
using Middle = Shape<32, 4, 3, 12>;
using Narrow = Shape<16, 4, 2, 12>;

template <typename T>
struct Version {
  std::int64_t lanes, vectors, rows, alone;
  void (*multiply)(const MatrixProduct<T>&, const Tiles&, std::int64_t, std::int64_t, T*);
  bool (*multiply_without_zeros)(const MatrixProduct<T>&, const NumbersMemory<T>&);
};
template <typename Shape, typename T>
constexpr Version<T> version(decltype(Version<T>::multiply) multiply,
                             decltype(Version<T>::multiply_without_zeros) without_zeros) {
  return {Shape::bytes / static_cast<std::int64_t>(sizeof(T)),
          Shape::vectors,
          Shape::rows,
          Shape::alone,
          multiply,
          without_zeros};
}

#define ST_PRODUCTS_OF(T, name, shape, target)                                                          \
  target void name(const MatrixProduct<T>& p, const Tiles& tiles, std::int64_t begin, std::int64_t end, \
                   T* y) {                                                                              \
    multiply_tiles<shape>(p, tiles, begin, end, y);                                                     \
  }                                                                                                     \
  target bool name##_numbers(const MatrixProduct<T>& p, const NumbersMemory<T>& memory) {               \
    return multiply_without_zeros<shape>(p, memory);                                                    \
  }
#define ST_PRODUCTS(name, shape, target)     \
  ST_PRODUCTS_OF(float, name, shape, target) \
  ST_PRODUCTS_OF(double, name, shape, target)
ST_PRODUCTS(multiply_anywhere, Narrow, )
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ST_PRODUCTS(multiply_v3, Middle, __attribute__((target("arch=x86-64-v3"))))
ST_PRODUCTS(multiply_v4, Widest, __attribute__((target("arch=x86-64-v4"))))
#endif

/// Those that the processor can run, the fastest first.
template <typename T>
const std::vector<Version<T>>& versions() {
  static const std::vector<Version<T>> found = [] {
    std::vector<Version<T>> can;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    if (__builtin_cpu_supports("x86-64-v4")) {
      can.push_back(version<Widest, T>(multiply_v4, multiply_v4_numbers));
    }
    if (__builtin_cpu_supports("x86-64-v3")) {
      can.push_back(version<Middle, T>(multiply_v3, multiply_v3_numbers));
    }
#endif
    can.push_back(version<Narrow, T>(multiply_anywhere, multiply_anywhere_numbers));
    return can;
  }();
  return found;
}

/// Memory that begins where a line of the cache does.
template <typename T>
class Lines {
 public:
  explicit Lines(std::int64_t count) : lines_(new Line[static_cast<std::size_t>(count / kOfLine + 1)]) {}
  T* data() { return reinterpret_cast<T*>(lines_.get()); }

 private:
  static constexpr std::int64_t kOfLine = 64 / sizeof(T);
  struct alignas(64) Line {
    T numbers[kOfLine];
  };
  std::unique_ptr<Line[]> lines_;
};

template <typename T>
void multiply_tiles(const Version<T>& version, const MatrixProduct<T>& product, const Tiles& tiles,
                    std::int64_t begin, std::int64_t end) {
  Lines<T> y(std::min(kDepth, product.depth) * version.vectors * version.lanes);
  version.multiply(product, tiles, begin, end, y.data());
}

/// Some rows of a product.
template <typename T>
MatrixProduct<T> some_rows(const MatrixProduct<T>& product, std::int64_t begin, std::int64_t end) {
  const auto from = [&](auto rows) {
    if (rows.places != nullptr) {
      rows.places += begin;
    } else {
      rows.data += begin * rows.stride;
    }
    return rows;
  };
  MatrixProduct<T> some = product;
  some.rows = end - begin;
  some.out = from(product.out);
  if (product.x_transposed) {
    some.x.data += begin;
  } else {
    some.x = from(product.x);
  }
  return some;
}

template <typename T>
void multiply_without_zeros(const Version<T>& version, const MatrixProduct<T>& product, std::int64_t begin,
                            std::int64_t end) {
  const std::int64_t most = std::min(kMostRows, end - begin), words = (product.depth + kBits - 1) / kBits;
  const std::int64_t width = version.alone * version.lanes;
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(most * words));
  Lines<T> y(kBits * width), sums(most * width);
  for (std::int64_t row = begin; row < end; row += most) {
    const MatrixProduct<T> some = some_rows(product, row, std::min(end, row + most));
    if (version.multiply_without_zeros(some, {bits.data(), y.data(), sums.data()})) continue;
    const Tiles tiles(some, version.lanes, version.vectors, version.rows);
    multiply_tiles(version, some, tiles, 0, tiles.work());
  }
}

}  // namespace

template <typename T>
void multiply_on_cpu(const MatrixProduct<T>& product, std::size_t version_of) {
  const Version<T>& version = versions<T>().at(version_of);
  const Tiles tiles(product, version.lanes, version.vectors, version.rows);
  if (tiles.work() == 0) return;
  const std::int64_t depth = std::max<std::int64_t>(1, product.depth);
  const auto grain = [&](std::int64_t products, std::int64_t fewest) {
    return std::max(fewest, kProducts / products);
  };
  const bool few_columns = tiles.all_vectors < kFewVectors;
  if (product.zeros && !few_columns && !(product.x_transposed && product.x.places != nullptr)) {
    at::parallel_for(0, product.rows, grain(product.columns * depth, kFewestRows),
                     [&](auto begin, auto end) { multiply_without_zeros(version, product, begin, end); });
    return;
  }
  const std::int64_t each =
      version.rows * version.lanes * depth * (tiles.rows_are_shared ? tiles.all_vectors : 1);
  at::parallel_for(0, tiles.work(), grain(each, 1),
                   [&](auto begin, auto end) { multiply_tiles(version, product, tiles, begin, end); });
}

std::size_t multiply_versions() { return versions<float>().size(); }

template void multiply_on_cpu(const MatrixProduct<float>& product, std::size_t version);
template void multiply_on_cpu(const MatrixProduct<double>& product, std::size_t version);

}  // namespace sentencode::nn
