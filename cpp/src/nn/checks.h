// Checks of arguments, with one wording.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace sentencode::nn {

/// One dimension of an expected shape: its size, or, if it may have any size, its name in the message. "..."
/// as the first dimension stands for any number of leading dimensions.
struct Dim {
  std::int64_t size = -1;
  std::string_view name;

  Dim(std::int64_t of_size) : size(of_size) {}  // NOLINT(*-explicit-*)
  template <std::size_t N>
  Dim(const char (&of_name)[N]) : name(of_name) {}  // NOLINT
};

struct Shape {
  std::vector<Dim> dims;

  Shape(std::initializer_list<Dim> of) : dims(of) {}                  // NOLINT(*-explicit-*)
  Shape(at::IntArrayRef sizes) : dims(sizes.begin(), sizes.end()) {}  // NOLINT(*-explicit-*)
};

enum class Type { any, floating, float_or_double, int64, boolean, boolean_or_floating };

/// ValueError "`name` must be <type> <shape>, got ..." if `tensor` is undefined or differs.
void check_tensor(std::string_view name, const at::Tensor& tensor, Type type, const Shape& shape);
/// The same; the tensor must also be on `device`.
void check_tensor(std::string_view name, const at::Tensor& tensor, Type type, const Shape& shape,
                  at::Device device);
/// The same; the tensor must have the dtype of `like` and be on its device.
void check_tensor(std::string_view name, const at::Tensor& tensor, const at::Tensor& like,
                  const Shape& shape);

/// Checks lengths [batch] int64, and, if they are in host memory, that they are in [0, time].
void check_lengths(std::string_view name, const at::Tensor& lengths, std::int64_t batch, std::int64_t time);

/// InvalidInput names the layer.
void check_dropout(std::string_view layer, double dropout);

}  // namespace sentencode::nn
