// Conversion of word lists.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string_view>

#include "sentencode/text/string_table.h"

namespace sentencode {

namespace py = pybind11;

/// A table of the strings of a list. ValueError if one has no UTF-8 encoding, or, with `distinct`, is
/// repeated.
StringTable strings_of(const py::object& words, const char* name, bool distinct = false);

/// find(text), or kMissing if the text has lone surrogates, which no table has.
template <typename Find>
std::int32_t find_text(const py::str& text, const Find& find) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return find(std::string_view(bytes, static_cast<std::size_t>(size)));
  if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw py::error_already_set();
  PyErr_Clear();
  return StringTable::kMissing;
}

}  // namespace sentencode
