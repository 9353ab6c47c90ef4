// NumPy arrays as views for the core, without copies, and results of the core as arrays.
#pragma once

#include <pybind11/numpy.h>

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/quantization.h"

namespace sentencode {

namespace py = pybind11;

/// A view of float32 [n, d] with contiguous rows and any stride. TypeError or ValueError describes other
/// arrays.
ConstMatrixView matrix_view(const py::array& array, const char* name);

/// The same, writable.
MatrixView writable_matrix_view(py::array& array, const char* name);

/// A view of embeddings of `dim` dimensions in a precision, which has a dtype.
StoredRows stored_view(const py::array& array, Precision precision, std::int64_t dim, const Ranges* ranges,
                       const char* name);

/// A NumPy array that takes over the memory of a matrix.
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
