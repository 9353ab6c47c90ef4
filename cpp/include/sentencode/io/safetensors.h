#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/error.h"

namespace sentencode {

enum class DType { boolean, u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64 };
std::string_view dtype_name(DType dtype);  // as in the format: "U8", "F16", ...
std::size_t dtype_size(DType dtype);

/// A view of an array.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

/// The DType of T. There is no C++ type for float16: use its bytes.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, char> || std::same_as<T, std::uint8_t>) return DType::u8;
  if constexpr (std::same_as<T, std::int8_t>) return DType::i8;
  if constexpr (std::same_as<T, std::int32_t>) return DType::i32;
  if constexpr (std::same_as<T, std::uint32_t>) return DType::u32;
  if constexpr (std::same_as<T, std::int64_t>) return DType::i64;
  if constexpr (std::same_as<T, std::uint64_t>) return DType::u64;
  if constexpr (std::same_as<T, float>) return DType::f32;
  if constexpr (std::same_as<T, double>) return DType::f64;
}

/// A tensor over memory that outlives it.
template <typename T>
Tensor tensor_of(std::span<const T> values, std::vector<std::int64_t> shape) {
  return {dtype_of<T>(), std::move(shape), std::as_bytes(values)};
}
template <typename T>
Tensor tensor_of(const RowMajor<T>& m) {
  return tensor_of(std::span<const T>(m.data(), static_cast<std::size_t>(m.size())), {m.rows(), m.cols()});
}

/// A mapped file of named arrays. The whole header is checked when it is opened: sizes, offsets without holes
/// or overlap, types, no duplicate keys, bounded length and depth, and its checksum, if there is one.
/// FormatError names the tensor and the byte.
class SafeTensors {
 public:
  static std::shared_ptr<const SafeTensors> open(const std::string& path);
  /// The same from memory owned by `keep`; messages call it `source`.
  static std::shared_ptr<const SafeTensors> parse(std::shared_ptr<const void> keep,
                                                  std::span<const std::byte> bytes, std::string source,
                                                  std::string path = {});

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  bool has_checksums() const { return has_checksums_; }  // of tensors: see `verify`
  const std::string& path() const { return path_; }      // empty if there is no file
  const std::string& source() const { return source_; }  // path, or its name in messages

  /// Compares a tensor with its checksums, if there are any. FormatError if it differs, with the range of
  /// bytes for checksums of blocks.
  void verify(const std::string& name) const;

  /// A tensor; FormatError unless it exists with this type and shape (-1 matches any size).
  const Tensor& tensor(const std::string& name, DType dtype, std::span<const std::int64_t> shape) const;

  /// A view of its values. FormatError unless they are aligned, as in files that this library or the
  /// safetensors package wrote.
  template <typename T>
  std::span<const T> values(const std::string& name, std::span<const std::int64_t> shape) const {
    const Tensor& array = tensor(name, dtype_of<T>(), shape);
    ST_CHECK(reinterpret_cast<std::uintptr_t>(array.bytes.data()) % alignof(T) == 0, FormatError, source(),
             ": tensor '", name, "' does not lie at a multiple of ", alignof(T), " bytes");
    return {reinterpret_cast<const T*>(array.bytes.data()), array.bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> values(const std::string& name, std::initializer_list<std::int64_t> shape) const {
    return values<T>(name, std::span<const std::int64_t>(shape.begin(), shape.size()));
  }
  Matrix matrix(const std::string& name, std::int64_t rows,
                std::int64_t cols) const;  // a copy; -1 matches any

 private:
  SafeTensors() = default;
  void verify_blocks(const std::string& name, std::span<const std::byte> bytes,
                     const std::string& sums) const;
  std::shared_ptr<const void> keep_;
  std::string path_, source_;
  const std::byte* start_ = nullptr;  // of the file
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Tensor> tensors_;
  bool has_checksums_ = false;
};

/// Writes such a file atomically, with checksums. Tensors are ordered by descending element size, then by
/// name, which aligns them. The header is padded so that the largest tensor begins at a multiple of 64 bytes
/// if possible: its rows are then aligned to cache lines when mapped.
void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

/// A tensor that is larger than memory: `write` passes its bytes, in order and in pieces of any size, to its
/// argument.
using ByteSink = std::function<void(std::span<const std::byte>)>;
struct StreamedTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::function<void(const ByteSink&)> write;
};

/// Checksums of tensors in blocks of a megabyte, as metadata: {"checksum.blocks.<tensor>": eight hexadecimal
/// digits per block}. `also` receives all bytes, in the order of the tensors' names.
std::map<std::string, std::string> block_checksums(const std::map<std::string, StreamedTensor>& tensors,
                                                   const ByteSink& also = {});

/// Writes such a file from streamed tensors. The header's checksum is added to the metadata if it contains
/// those of tensors. InternalError if a tensor writes another number of bytes than its shape requires.
void stream_safetensors(const std::string& path, const std::map<std::string, StreamedTensor>& tensors,
                        const std::map<std::string, std::string>& metadata);

/// The content of such a file without checksums, in pieces; those of tensors are views of them.
struct SafeTensorsPieces {
  std::string header;  // prefixed by its length
  std::vector<std::span<const std::byte>> data;
};
SafeTensorsPieces safetensors_pieces(const std::map<std::string, Tensor>& tensors,
                                     const std::map<std::string, std::string>& metadata);

}  // namespace sentencode
