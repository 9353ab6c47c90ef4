#pragma once

#include <pybind11/pybind11.h>

#include "gil.h"

namespace sentencode {

namespace py = pybind11;

}  // namespace sentencode
