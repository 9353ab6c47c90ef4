#include "arrays.h"

#include <string>

#include "sentencode/error.h"

namespace sentencode {
namespace {

std::string shape_of(const py::array& array) {
  std::string shape = "[";
  for (py::ssize_t i = 0; i < array.ndim(); ++i) shape += concat(i == 0 ? "" : ", ", array.shape(i));
  return shape + "]";
}

/// Bytes between the rows of an array [n, d] of a dtype.
py::ssize_t checked_stride(const py::array& array, const char* name, const py::dtype& dtype) {
  if (!array.dtype().equal(dtype)) {
    // A handle: the pybind11 of torch 2.11 has no unambiguous str(const dtype&).
    throw py::type_error(concat(name, " must be a ", py::str(py::handle(dtype)).cast<std::string>(),
                                " array, got ", py::str(array.dtype()).cast<std::string>()));
  }
  ST_CHECK(array.ndim() == 2, InvalidInput, name, " must have two dimensions, got shape ", shape_of(array));
  const py::ssize_t size = array.itemsize(), stride = array.strides(0), rows = array.shape(0),
                    columns = array.shape(1);
  // NumPy's strides are arbitrary for empty arrays and for single rows.
  if (array.size() == 0) return columns * size;
  ST_CHECK(columns <= 1 || array.strides(1) == size, InvalidInput, name, " must have contiguous rows");
  if (rows == 1) return columns * size;
  ST_CHECK(stride % size == 0 && stride >= columns * size, InvalidInput, name,
           " must have rows that do not overlap or go backwards, got a stride of ", stride,
           " bytes for rows of ", columns * size, " bytes");
  return stride;
}

Eigen::OuterStride<> float_stride(const py::array& array, const char* name) {
  return Eigen::OuterStride<>(checked_stride(array, name, py::dtype::of<float>()) /
                              static_cast<py::ssize_t>(sizeof(float)));
}

}  // namespace

ConstMatrixView matrix_view(const py::array& array, const char* name) {
  const Eigen::OuterStride<> stride = float_stride(array, name);
  return {static_cast<const float*>(array.data()), array.shape(0), array.shape(1), stride};
}

MatrixView writable_matrix_view(py::array& array, const char* name) {
  const Eigen::OuterStride<> stride = float_stride(array, name);
  ST_CHECK(array.writeable(), InvalidInput, name, " is read-only");
  return {static_cast<float*>(array.mutable_data()), array.shape(0), array.shape(1), stride};
}

StoredRows stored_view(const py::array& array, Precision precision, std::int64_t dim, const Ranges* ranges,
                       const char* name) {
  constexpr const char* kTypes[] = {"float32", "float16", "int8", "uint8", "int8", "uint8"};  // by precision
  const py::dtype dtype(kTypes[static_cast<std::size_t>(precision)]);
  const py::ssize_t stride = checked_stride(array, name, dtype);
  const std::int64_t columns = stored_bytes(precision, dim) / dtype.itemsize();
  ST_CHECK(array.shape(1) == columns, InvalidInput, name, " must have ", columns, " columns for ", dim,
           " dimensions in ", name_of(precision), ", got ", array.shape(1));
  return {static_cast<const std::byte*>(array.data()), array.shape(0), dim, stride, precision, ranges};
}

}  // namespace sentencode
