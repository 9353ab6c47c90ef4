#include "sentencode/vectors/sparse.h"

#include <numeric>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// y [width] += sum_k values[k] x[columns[k]], four rows of x per pass over y.
[[gnu::always_inline]] inline void add_rows(const std::int32_t* columns, const float* values,
                                            std::int64_t count, const float* x, std::int64_t width,
                                            float* __restrict y) {
  std::int64_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const float* a = x + columns[k] * width;
    const float* b = x + columns[k + 1] * width;
    const float* c = x + columns[k + 2] * width;
    const float* d = x + columns[k + 3] * width;
    const float va = values[k], vb = values[k + 1], vc = values[k + 2], vd = values[k + 3];
    for (std::int64_t j = 0; j < width; ++j) y[j] += va * a[j] + vb * b[j] + (vc * c[j] + vd * d[j]);
  }
  for (; k < count; ++k) {
    const float* a = x + columns[k] * width;
    const float va = values[k];
    for (std::int64_t j = 0; j < width; ++j) y[j] += va * a[j];
  }
}

using AddRows = void (*)(const std::int32_t*, const float*, std::int64_t, const float*, std::int64_t, float*);

void add_rows_portable(const std::int32_t* columns, const float* values, std::int64_t count, const float* x,
                       std::int64_t width, float* y) {
  add_rows(columns, values, count, x, width, y);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void add_rows_avx2(const std::int32_t* columns, const float* values,
                                               std::int64_t count, const float* x, std::int64_t width,
                                               float* y) {
  add_rows(columns, values, count, x, width, y);
}
#endif

AddRows best_add_rows() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &add_rows_avx2;
#endif
  return &add_rows_portable;
}

}  // namespace

SparseMatrix transposed(const SparseMatrix& a) {
  SparseMatrix t;
  t.cols = a.rows();
  t.columns.resize(a.columns.size());
  t.values.resize(a.values.size());
  // Counting sort: counts are offset by two, so that every offset is right after filling.
  t.offsets.assign(static_cast<std::size_t>(a.cols) + 2, 0);
  for (const std::int32_t c : a.columns) ++t.offsets[static_cast<std::size_t>(c) + 2];
  std::partial_sum(t.offsets.begin(), t.offsets.end(), t.offsets.begin());
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    const auto first = static_cast<std::size_t>(a.offsets[static_cast<std::size_t>(r)]);
    const auto last = static_cast<std::size_t>(a.offsets[static_cast<std::size_t>(r) + 1]);
    for (std::size_t k = first; k < last; ++k) {
      const auto to = static_cast<std::size_t>(t.offsets[static_cast<std::size_t>(a.columns[k]) + 1]++);
      t.columns[to] = static_cast<std::int32_t>(r);
      t.values[to] = a.values[k];
    }
  }
  t.offsets.pop_back();
  return t;
}

Matrix product(const SparseMatrix& a, const Matrix& x) {
  ST_CHECK(a.cols == x.rows(), InvalidInput, "a sparse matrix of ", a.cols,
           " columns cannot be multiplied by one of ", x.rows(), " rows");
  static const AddRows add = best_add_rows();
  Matrix y = Matrix::Zero(a.rows(), x.cols());
  parallel_for(0, a.rows(), 32, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t first = a.offsets[static_cast<std::size_t>(r)];
      const std::int64_t count = a.offsets[static_cast<std::size_t>(r) + 1] - first;
      add(a.columns.data() + first, a.values.data() + first, count, x.data(), x.cols(), y.row(r).data());
    }
  });
  return y;
}

}  // namespace sentencode
