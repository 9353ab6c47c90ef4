#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sentencode/quantization.h"

/// Hot loops over stored embeddings. Search works on panels of 32 rows, one lane each: a score is summed in
/// the order of the dimensions, whatever the row's position, the number of queries or of threads.
namespace sentencode {

constexpr std::int64_t kPanelRows = 32;

template <typename T>
struct alignas(64) PanelColumn {
  T rows[kPanelRows];
};
/// One dimension, or 64 bits, of 32 rows in each column.
template <typename T>
using PanelOf = std::vector<PanelColumn<T>>;

struct StoredKernels {
  std::string_view name;
  bool supported = false;  // by this processor

  /// Writes an embedding [dim] without NaN in a precision, by precision.
  void (*store[6])(const float* row, std::int64_t dim, const Ranges* ranges, std::byte* out);
  /// panel[j].rows[i]: dimension j of row first + i, i < count; zero for later rows. By precision, not
  /// packed.
  void (*load[4])(const StoredRows& rows, std::int64_t first, std::int64_t count, PanelColumn<float>* panel);
  /// out [32]: the sum of squares of each row.
  void (*squares)(const PanelColumn<float>* panel, std::int64_t dim, double* out);
  /// out[i * stride + r] = factors[r] * sum_j queries[j * n + i] * panel[j].rows[r] for n queries i: `group`
  /// of them, or one.
  void (*scores)(const float* queries, const PanelColumn<float>* panel, std::int64_t dim,
                 const float* factors, float* out, std::int64_t stride);
  void (*score)(const float* query, const PanelColumn<float>* panel, std::int64_t dim, const float* factors,
                float* out, std::int64_t stride);
  std::int64_t group = 1;
  /// out[r] = same + each * (bits in which the query and row r differ)
  void (*hamming)(const std::uint64_t* query, const PanelColumn<std::uint64_t>* panel, std::int64_t words,
                  float same, float each, float* out);
};
std::span<const StoredKernels>
all_stored_kernels();                   // best first; the last, portable one is always supported
const StoredKernels& stored_kernels();  // the best that is supported

}  // namespace sentencode
