// NumPy arrays as the core sees matrices: looked at, never copied, and refused with what is wrong about them.
// And what the core computes, as arrays.
#pragma once

#include <pybind11/numpy.h>

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "sentencode/dense.h"

namespace sentencode {

namespace py = pybind11;

/// float32 [n, d], rows contiguous, any distance apart. TypeError or ValueError names the argument and what
/// it is.
ConstMatrixView matrix_view(const py::array& array, const char* name);

/// The same, to be written to.
MatrixView writable_matrix_view(py::array& array, const char* name);

/// A NumPy array that owns what was a matrix.
template <typename T>
py::array_t<T> array_of(RowMajor<T> matrix) {
  auto owner = std::make_unique<RowMajor<T>>(std::move(matrix));
  const py::capsule keep(owner.get(), [](void* held) { delete static_cast<RowMajor<T>*>(held); });
  RowMajor<T>* held = owner.release();
  return py::array_t<T>({held->rows(), held->cols()}, held->data(), keep);
}

inline py::array_t<float> array_of(const Vector& vector) {
  return py::array_t<float>(vector.size(), vector.data());
}

template <typename T>
py::array_t<T> array_of(const std::vector<T>& values) {
  return py::array_t<T>(std::ssize(values), values.data());
}

}  // namespace sentencode
