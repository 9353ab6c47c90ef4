// Text between the core and Python.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

namespace sentencode {

namespace py = pybind11;

/// A str; bytes that are not UTF-8 become U+FFFD.
inline py::str text_of(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

}  // namespace sentencode
