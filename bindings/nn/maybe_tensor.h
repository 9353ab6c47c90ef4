// Optional tensors: undefined in C++, None in Python. Needs <pybind11/stl.h>.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace sentencode {

using MaybeTensor = std::optional<at::Tensor>;

inline at::Tensor or_undefined(const MaybeTensor& tensor) { return tensor.value_or(at::Tensor()); }
inline MaybeTensor if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : std::nullopt;
}

}  // namespace sentencode
