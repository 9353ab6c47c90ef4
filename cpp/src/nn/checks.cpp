#include "nn/checks.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

bool has_type(const Tensor& tensor, Type type) {
  const at::ScalarType dtype = tensor.scalar_type();
  switch (type) {
    case Type::any:
      return true;
    case Type::floating:
      return at::isFloatingType(dtype);
    case Type::float_or_double:
      return dtype == at::kFloat || dtype == at::kDouble;
    case Type::int64:
      return dtype == at::kLong;
    case Type::boolean:
      return dtype == at::kBool;
    case Type::boolean_or_floating:
      return dtype == at::kBool || at::isFloatingType(dtype);
  }
  return false;
}

const char* type_name(Type type) {
  switch (type) {
    case Type::any:
      return "";
    case Type::floating:
      return "floating point ";
    case Type::float_or_double:
      return "float or double ";
    case Type::int64:
      return "int64 ";
    case Type::boolean:
      return "bool ";
    case Type::boolean_or_floating:
      return "bool or floating point ";
  }
  return "";
}

bool has_shape(const Tensor& tensor, const Shape& shape) {
  auto dims = c10::ArrayRef<Dim>(shape.dims);
  auto sizes = tensor.sizes();
  if (!dims.empty() && dims[0].name == "...") {
    dims = dims.slice(1);
    if (sizes.size() < dims.size()) return false;
    sizes = sizes.slice(sizes.size() - dims.size());
  }
  return std::ranges::equal(
      sizes, dims, [](std::int64_t size, const Dim& dim) { return dim.size < 0 || dim.size == size; });
}

[[noreturn]] void fail(std::string_view name, const Tensor& tensor, std::string_view type, const Shape& shape,
                       std::optional<at::Device> device) {
  std::ostringstream expected, actual;
  expected << type << "[";
  const char* separator = "";
  for (const Dim& dim : shape.dims) {
    expected << separator;
    dim.size < 0 ? expected << dim.name : expected << dim.size;
    separator = ", ";
  }
  expected << "]";
  if (!tensor.defined()) {
    actual << "no tensor";
  } else if (type.empty()) {
    actual << tensor.sizes();
  } else {
    actual << tensor.dtype() << " " << tensor.sizes();
  }
  if (device) {
    expected << " on " << *device;
    if (tensor.defined()) actual << " on " << tensor.device();
  }
  C10_THROW_ERROR(ValueError, std::string(name) + " must be " + expected.str() + ", got " + actual.str());
}

}  // namespace

void check_tensor(std::string_view name, const Tensor& tensor, Type type, const Shape& shape) {
  if (!tensor.defined() || !has_type(tensor, type) || !has_shape(tensor, shape)) {
    fail(name, tensor, type_name(type), shape, std::nullopt);
  }
}

void check_tensor(std::string_view name, const Tensor& tensor, Type type, const Shape& shape,
                  at::Device device) {
  if (!tensor.defined() || !has_type(tensor, type) || !has_shape(tensor, shape) ||
      tensor.device() != device) {
    fail(name, tensor, type_name(type), shape, device);
  }
}

void check_tensor(std::string_view name, const Tensor& tensor, const Tensor& like, const Shape& shape) {
  if (!tensor.defined() || tensor.scalar_type() != like.scalar_type() || !has_shape(tensor, shape) ||
      tensor.device() != like.device()) {
    fail(name, tensor, std::string(like.dtype().name()) + " ", shape, like.device());
  }
}

void check_lengths(std::string_view name, const Tensor& lengths, std::int64_t batch, std::int64_t time) {
  check_tensor(name, lengths, Type::int64, {batch});
  if (!lengths.is_cpu() || batch == 0) return;  // reading them would wait for a GPU
  const Tensor contiguous = lengths.contiguous();
  const auto* const values = contiguous.const_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    TORCH_CHECK_VALUE(values[b] >= 0 && values[b] <= time, name, " must be from 0 to ", time, ", got ",
                      values[b]);
  }
}

void check_dropout(std::string_view layer, double dropout) {
  ST_CHECK(dropout >= 0 && dropout < 1, InvalidInput, layer, ": dropout must be in [0, 1), got ", dropout);
}

}  // namespace sentencode::nn
