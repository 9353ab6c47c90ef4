#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sentencode/enum_names.h"

/// Storage of table rows, and the hot loop over them. Everything accumulates in float32.
namespace sentencode {

enum class Storage { float32, float16, int8 };  // int8: one scale a row
constexpr EnumNames<3> enum_names(Storage) { return {"storage", {"float32", "float16", "int8"}}; }

constexpr std::size_t element_bytes(Storage storage) {
  return storage == Storage::float32 ? 4 : storage == Storage::float16 ? 2 : 1;
}

/// Writes `values` as a stored row; `scale` only for int8. False if a value is not finite, or would not be as
/// float16, or if the sum of squares overflows a float, which would make lengths and cosines infinite.
bool store_row(std::span<const float> values, Storage storage, std::byte* row, float* scale);
/// The same check without writing.
bool can_be_stored(std::span<const float> values, Storage storage);
/// Why it is false: "number 2 of the vector of NAME is ...".
std::string why_not_stored(std::span<const float> values, std::string_view name);

/// out [dim] = sum_i factors[i] rows[i], one row after the other, so that the result depends on the rows and
/// their order only. factors may be null (all one), except for int8, whose scales they contain.
using SumRows = void (*)(const std::byte* const* rows, const float* factors, std::int64_t count,
                         std::int64_t dim, float* out);

/// The same loop for each instruction set. With factors, results of two of them differ by rounding: one
/// has fused multiply-add, the other has not.
struct RowKernels {
  std::string_view name;
  bool supported = false;  // by this processor
  SumRows sum[3];          // by storage
};
std::span<const RowKernels> all_row_kernels();  // best first; the last, portable one is always supported
const RowKernels& row_kernels();                // the best that is supported

}  // namespace sentencode
