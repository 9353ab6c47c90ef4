// Conversion of word lists.
#pragma once

#include <pybind11/pybind11.h>

#include "sentencode/text/string_table.h"

namespace sentencode {

namespace py = pybind11;

/// A table of the strings of a list. ValueError if one has no UTF-8 encoding, or, with `distinct`, is
/// repeated.
StringTable strings_of(const py::object& words, const char* name, bool distinct = false);

}  // namespace sentencode
