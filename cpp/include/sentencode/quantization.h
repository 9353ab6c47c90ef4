#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sentencode/dense.h"
#include "sentencode/enum_names.h"

/// Embeddings in fewer bytes, byte for byte as sentence-transformers stores them.
namespace sentencode {

/// int8, uint8: 256 steps of each dimension's range. binary, ubinary: one bit a dimension, whether it is
/// positive, packed from the highest bit. Bytes of int8 and binary are those of uint8 and ubinary minus 128.
enum class Precision { float32, float16, int8, uint8, binary, ubinary };
constexpr EnumNames<6> enum_names(Precision) {
  return {"precision", {"float32", "float16", "int8", "uint8", "binary", "ubinary"}};
}
constexpr bool has_ranges(Precision p) { return p == Precision::int8 || p == Precision::uint8; }
constexpr bool is_packed(Precision p) { return p == Precision::binary || p == Precision::ubinary; }
/// Added to every byte, modulo 256.
constexpr std::uint8_t byte_offset(Precision p) {
  return p == Precision::int8 || p == Precision::binary ? 128 : 0;
}

/// Bytes of an embedding.
constexpr std::int64_t stored_bytes(Precision p, std::int64_t dim) {
  return p == Precision::float32   ? 4 * dim
         : p == Precision::float16 ? 2 * dim
         : is_packed(p)            ? (dim + 7) / 8
                                   : dim;
}

/// The range of each dimension in 256 steps. A stored byte represents the middle of its step.
struct Ranges {
  /// ranges [2, dim]: least and largest value. InvalidInput names a dimension that has no range.
  explicit Ranges(const ConstRef<float>& ranges);

  Vector least, step;  // [dim]
  Vector divisor;      // step, or 1 if it is 0
  Vector middle;       // of the first step
};

/// Embeddings in any precision, `stride` bytes apart. Ranges exactly for int8 and uint8.
struct StoredRows {
  const std::byte* data = nullptr;
  std::int64_t rows = 0, dim = 0, stride = 0;
  Precision precision = Precision::float32;
  const Ranges* ranges = nullptr;

  const std::byte* row(std::int64_t i) const { return data + i * stride; }
};
/// A view of a matrix.
StoredRows stored_rows(const ConstRef<float>& rows);

/// Writes rows [n, dim] to `out`, `stride` bytes apart. Values outside the ranges get the nearest step;
/// float16 overflows to infinity. InvalidInput names the first row with NaN, which has neither a step nor a
/// sign.
void quantize(const ConstRef<float>& rows, Precision precision, const Ranges* ranges, std::byte* out,
              std::int64_t stride, std::string_view name = "embeddings");

}  // namespace sentencode
