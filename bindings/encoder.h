// What all bound encoders share.
#pragma once

#include <pybind11/numpy.h>

#include "sentencode/encoder.h"

namespace sentencode {

namespace py = pybind11;

/// Fills float32 [n, dim] in place, for whatever SentencesArgument takes.
void encode_into(const Encoder& encoder, const py::object& sentences, py::array out);

}  // namespace sentencode
