// The core's errors as Python's exceptions.
#pragma once

#include <pybind11/pybind11.h>

namespace sentencode {

namespace py = pybind11;

/// Adds the classes of sentencode.errors to `_core`.
void define_errors(py::module_& m);

/// From now on, errors of the core in bindings of this module are raised as the classes of `defined`.
void bind_errors(const py::module_& defined);

}  // namespace sentencode
