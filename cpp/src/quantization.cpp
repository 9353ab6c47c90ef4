#include "sentencode/quantization.h"

#include <atomic>
#include <cmath>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/stored_kernels.h"

namespace sentencode {
namespace {

constexpr std::int64_t kRowsAtOnce = 256;

bool has_nan(const float* row, std::int64_t dim) {
  int any = 0;
  for (std::int64_t j = 0; j < dim; ++j) any |= static_cast<int>(row[j] != row[j]);
  return any != 0;
}

}  // namespace

Ranges::Ranges(const ConstRef<float>& ranges) {
  ST_CHECK(ranges.rows() == 2, InvalidInput, "ranges must be [2, dim], least and largest value, got ",
           ranges.rows(), " rows");
  for (std::int64_t j = 0; j < ranges.cols(); ++j) {
    ST_CHECK(ranges(0, j) <= ranges(1, j) && std::isfinite(ranges(1, j) - ranges(0, j)), InvalidInput,
             "ranges of dimension ", j,
             ": expected finite values, the least first, and a finite difference, got ", ranges(0, j),
             " and ", ranges(1, j));
  }
  least = ranges.row(0);
  step = (ranges.row(1) - ranges.row(0)) / 255.0F;
  divisor = (step.array() == 0.0F).select(1.0F, step);
  middle = least + 0.5F * step;
}

StoredRows stored_rows(const ConstRef<float>& rows) {
  return {reinterpret_cast<const std::byte*>(rows.data()), rows.rows(), rows.cols(),
          static_cast<std::int64_t>(sizeof(float)) * rows.outerStride()};
}

void quantize(const ConstRef<float>& rows, Precision precision, const Ranges* ranges, std::byte* out,
              std::int64_t stride, std::string_view name) {
  const std::int64_t dim = rows.cols();
  ST_CHECK(has_ranges(precision) == (ranges != nullptr), InvalidInput,
           "ranges are of int8 and uint8, not of ", name_of(precision), "; both require them");
  ST_CHECK(ranges == nullptr || ranges->least.size() == dim, InvalidInput, "ranges of ",
           ranges == nullptr ? 0 : ranges->least.size(), " dimensions for embeddings of ", dim);
  const bool holds_nan = precision == Precision::float32 || precision == Precision::float16;
  const auto store = stored_kernels().store[static_cast<std::size_t>(precision)];
  std::atomic<std::int64_t> with_nan{rows.rows()};
  parallel_for(0, rows.rows(), kRowsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* row = rows.data() + i * rows.outerStride();
      if (!holds_nan && has_nan(row, dim)) {
        for (std::int64_t first = with_nan; i < first && !with_nan.compare_exchange_weak(first, i);) continue;
        return;
      }
      store(row, dim, ranges, out + i * stride);
    }
  });
  ST_CHECK(with_nan == rows.rows(), InvalidInput, name, ": row ", with_nan.load(), " holds NaN, which ",
           name_of(precision), " cannot store");
}

}  // namespace sentencode
