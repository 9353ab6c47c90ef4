#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// How rows of numbers are stored, and the one hot loop over them. Everything accumulates in float32.
namespace sentencode {

enum class Storage { float32, float16, int8 };  // int8: one scale a row

/// Its name in Python; InvalidInput when a name is none of these.
std::string_view name_of(Storage storage);
Storage storage_named(std::string_view name);
/// Here, because loops over rows ask for it.
constexpr std::size_t element_bytes(Storage storage) {
  return storage == Storage::float32 ? 4 : storage == Storage::float16 ? 2 : 1;
}

/// Writes `values` as a stored row. The scale is only written for int8. False when a number is not finite or,
/// as float16, would not be, or when the sum of squares is too large for a float: lengths and cosines would
/// be infinite.
bool store_row(std::span<const float> values, Storage storage, std::byte* row, float* scale);
/// The same question alone.
bool can_be_stored(std::span<const float> values, Storage storage);
/// Why it was false: "number 2 of the vector of NAME is ...".
std::string why_not_stored(std::span<const float> values, std::string_view name);

/// out [dim] (+)= sum_i factors[i] rows[i], one row after the other: the result depends on nothing but the
/// rows and their order. `add` false: out is overwritten. factors may be null (all one) but not for int8,
/// whose scales they carry.
using SumRows = void (*)(const std::byte* const* rows, const float* factors, std::int64_t count,
                         std::int64_t dim, bool add, float* out);

/// The same loop for each kind of processor. With factors of their own, results of two kinds differ by
/// rounding only: one multiplies and adds in one step, the other in two.
struct RowKernels {
  std::string_view name;
  bool supported = false;  // by the processor we run on
  SumRows sum[3];          // by storage
};
std::span<const RowKernels> all_row_kernels();  // best first; the last, portable one is always supported
const RowKernels& row_kernels();                // the best that is supported

}  // namespace sentencode
