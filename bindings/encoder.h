// Methods of all bound encoders.
#pragma once

#include <pybind11/numpy.h>

#include "sentencode/encoder.h"

namespace sentencode {

namespace py = pybind11;

/// Writes embeddings of a SentencesArgument to float32 [n, dim].
void encode_into(const Encoder& encoder, const py::object& sentences, py::array out);

}  // namespace sentencode
