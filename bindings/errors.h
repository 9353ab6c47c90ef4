// The core's errors as Python's exceptions.
#pragma once

#include <pybind11/pybind11.h>

namespace sentencode {

namespace py = pybind11;

/// Shows the classes of sentencode.errors in `_core`.
void define_errors(py::module_& m);

/// From here on, what the core throws through this module's bindings is raised, as the classes `defined`
/// there.
void bind_errors(const py::module_& defined);

}  // namespace sentencode
