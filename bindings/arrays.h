// NumPy arrays as the core sees matrices: looked at, never copied, and refused with what is wrong about them.
#pragma once

#include <pybind11/numpy.h>

#include "sentencode/dense.h"

namespace sentencode {

namespace py = pybind11;

/// float32 [n, d], rows contiguous, any distance apart. TypeError or ValueError names the argument and what
/// it is.
ConstMatrixView matrix_view(const py::array& array, const char* name);

/// The same, to be written to.
MatrixView writable_matrix_view(py::array& array, const char* name);

}  // namespace sentencode
