// Words as Python gives and takes them.
#pragma once

#include <pybind11/pybind11.h>

#include "sentencode/text/string_table.h"

namespace sentencode {

namespace py = pybind11;

/// A list of str as a table of distinct strings. ValueError where one has no UTF-8, or, if they have to be
/// `distinct`, comes twice.
StringTable strings_of(const py::object& words, const char* name, bool distinct = false);

}  // namespace sentencode
