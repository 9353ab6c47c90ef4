#include "nn/matrix_product.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "nn/matrix_panel.h"
#include "nn/matrix_zeros.h"
#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kProducts = 1024 * 1024;  // that a thread is worth
constexpr std::int64_t kManyTiles = 16;          // of each thread

// Zeros are looked for where each thread has at least so many rows, or, if y must be turned for them:
constexpr std::int64_t kFewestRows = 16, kFewestRowsTurned = 96;
constexpr std::int64_t kSample = 16;        // of the lines of x, by which most are found that have few zeros
constexpr std::int64_t kMarks = 64 * 1024;  // that a thread is worth
constexpr double kFewZeros = 0.25;          // of all numbers: leaving them out takes as long (Zen 4)

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
using Widest = Shape<64, 8, 3, 8>;
using Middle = Shape<32, 4, 3, 12>;
using Narrow = Shape<16, 4, 2, 12>;

template <typename T>
struct Version {
  std::int64_t lanes, vectors, rows, alone;
  void (*multiply)(const MatrixProduct<T>&, const Tiles&, std::int64_t, std::int64_t, T*);
  std::int64_t (*find_numbers)(const MatrixProduct<T>&, std::uint64_t*);
  void (*multiply_marked)(const MatrixProduct<T>&, const Marked<T>&);
};

#define ST_PRODUCTS_OF(T, name, shape, target)                                                       \
  target void name##_tiles(const MatrixProduct<T>& p, const Tiles& tiles, std::int64_t begin,        \
                           std::int64_t end, T* y) {                                                 \
    multiply_tiles<shape>(p, tiles, begin, end, y);                                                  \
  }                                                                                                  \
  target std::int64_t name##_find(const MatrixProduct<T>& p, std::uint64_t* words) {                 \
    return find_numbers(p, words);                                                                   \
  }                                                                                                  \
  target void name##_marked(const MatrixProduct<T>& p, const Marked<T>& marked) {                    \
    multiply_marked<shape>(p, marked);                                                               \
  }                                                                                                  \
  void add_version_##name(std::vector<Version<T>>& to) {                                             \
    to.push_back({shape::bytes / sizeof(T), shape::vectors, shape::rows, shape::alone, name##_tiles, \
                  name##_find, name##_marked});                                                      \
  }
#define ST_PRODUCTS(name, shape, target)     \
  ST_PRODUCTS_OF(float, name, shape, target) \
  ST_PRODUCTS_OF(double, name, shape, target)
ST_PRODUCTS(anywhere, Narrow, )
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ST_PRODUCTS(v3, Middle, __attribute__((target("arch=x86-64-v3"))))
ST_PRODUCTS(v4, Widest, __attribute__((target("arch=x86-64-v4"))))
#endif

/// Those that the processor can run, the fastest first.
template <typename T>
const std::vector<Version<T>>& versions() {
  static const std::vector<Version<T>> found = [] {
    std::vector<Version<T>> can;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    if (__builtin_cpu_supports("x86-64-v4")) add_version_v4(can);
    if (__builtin_cpu_supports("x86-64-v3")) add_version_v3(can);
#endif
    add_version_anywhere(can);
    return can;
  }();
  return found;
}

/// Memory that begins where a line of the cache does.
template <typename T>
class Lines {
 public:
  explicit Lines(std::int64_t count) : numbers_(new (kLine) T[static_cast<std::size_t>(count)]) {}
  T* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(T* numbers) const { ::operator delete[](numbers, kLine); }
  };
  std::unique_ptr<T[], Free> numbers_;
};

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
bool has_few_zeros(const MatrixProduct<T>& product, std::int64_t numbers) {
  const auto all = static_cast<double>(product.rows * product.depth);
  return static_cast<double>(numbers) > (1 - kFewZeros) * all;
}

/// Whether it was done: not if few of x's numbers are zero.
template <typename T>
bool multiply_without_zeros(const Version<T>& version, const MatrixProduct<T>& product) {
  const std::int64_t of_row = words_of(product.depth);
  std::vector<std::uint64_t> words(static_cast<std::size_t>(product.rows * of_row));
  MatrixProduct<T> sample = product;
  std::int64_t& lines = product.x_transposed ? sample.depth : sample.rows;
  lines = std::min(lines, kSample);
  if (has_few_zeros(sample, version.find_numbers(sample, words.data()))) return false;
  std::atomic<std::int64_t> numbers = 0;
  at::parallel_for(0, product.rows, kMarks / std::max<std::int64_t>(1, product.depth) + 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     numbers +=
                         version.find_numbers(some_rows(product, begin, end), words.data() + begin * of_row);
                   });
  if (has_few_zeros(product, numbers)) return false;
  at::parallel_for(0, product.rows, kFewestRows, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = std::min(kRowsAtOnce, end - begin), width = version.alone * version.lanes;
    Lines<T> y(kBits * width), sums(most * width);
    for (std::int64_t row = begin; row < end; row += most) {
      version.multiply_marked(some_rows(product, row, std::min(end, row + most)),
                              {words.data() + row * of_row, y.data(), sums.data()});
    }
  });
  return true;
}

/// Whether zeros are worth looking for.
template <typename T>
bool may_leave_out_zeros(const Version<T>& version, const MatrixProduct<T>& product) {
  // Each thread puts all of y in order for its rows.
  const std::int64_t rows = (product.y_transposed ? kFewestRowsTurned : kFewestRows) * at::get_num_threads();
  const bool reads_columns_at_places = product.x_transposed && product.x.places != nullptr;
  return product.zeros && product.rows >= rows && product.columns > (kFewestVectors - 1) * version.lanes &&
         !reads_columns_at_places;
}

}  // namespace

template <typename T>
void multiply_on_cpu(const MatrixProduct<T>& product, std::size_t version_of) {
  const Version<T>& version = versions<T>().at(version_of);
  if (product.rows == 0 || product.columns == 0) return;
  if (may_leave_out_zeros(version, product) && multiply_without_zeros(version, product)) return;
  const Tiles tiles(product, version.lanes, version.vectors, version.rows);
  const std::int64_t each = version.rows * version.lanes * std::max<std::int64_t>(1, product.depth) *
                            (tiles.rows_are_shared ? tiles.all_vectors : 1);
  at::parallel_for(0, tiles.work(), std::max<std::int64_t>(1, kProducts / each), [&](auto begin, auto end) {
    Lines<T> y(std::min(kDepth, product.depth) * version.vectors * version.lanes);
    version.multiply(product, tiles, begin, end, y.data());
  });
}

std::size_t multiply_versions() { return versions<float>().size(); }

template void multiply_on_cpu(const MatrixProduct<float>& product, std::size_t version);
template void multiply_on_cpu(const MatrixProduct<double>& product, std::size_t version);

}  // namespace sentencode::nn
