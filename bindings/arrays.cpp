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

Eigen::OuterStride<> checked_stride(const py::array& array, const char* name) {
  if (!py::isinstance<py::array_t<float>>(array)) {
    throw py::type_error(
        concat(name, " must be a float32 array, got ", py::str(array.dtype()).cast<std::string>()));
  }
  ST_CHECK(array.ndim() == 2, InvalidInput, name, " must have two dimensions, got shape ", shape_of(array));
  constexpr py::ssize_t kSize = sizeof(float);
  const py::ssize_t stride = array.strides(0), rows = array.shape(0), columns = array.shape(1);
  // NumPy's strides are arbitrary for empty arrays and for single rows.
  if (array.size() == 0) return Eigen::OuterStride<>(columns);
  ST_CHECK(columns <= 1 || array.strides(1) == kSize, InvalidInput, name, " must have contiguous rows");
  if (rows == 1) return Eigen::OuterStride<>(columns);
  ST_CHECK(stride % kSize == 0 && stride >= columns * kSize, InvalidInput, name,
           " must have rows that do not overlap or go backwards, got a stride of ", stride,
           " bytes for rows of ", columns * kSize, " bytes");
  return Eigen::OuterStride<>(stride / kSize);
}

}  // namespace

ConstMatrixView matrix_view(const py::array& array, const char* name) {
  const Eigen::OuterStride<> stride = checked_stride(array, name);
  return {static_cast<const float*>(array.data()), array.shape(0), array.shape(1), stride};
}

MatrixView writable_matrix_view(py::array& array, const char* name) {
  const Eigen::OuterStride<> stride = checked_stride(array, name);
  ST_CHECK(array.writeable(), InvalidInput, name, " is read-only");
  return {static_cast<float*>(array.mutable_data()), array.shape(0), array.shape(1), stride};
}

}  // namespace sentencode
