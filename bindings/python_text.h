// Conversion of text to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

namespace sentencode {

namespace py = pybind11;

/// A str; invalid UTF-8 becomes U+FFFD.
inline py::str text_of(std::string_view text) {
  PyObject* object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(object);
}

}  // namespace sentencode
