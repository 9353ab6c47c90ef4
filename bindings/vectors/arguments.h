// Word vectors as arguments of encoders.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

namespace py = pybind11;

using VectorsArgument = std::shared_ptr<WordVectors>;  // Python's holder is not const, but the class has no
                                                       // method that changes it
using WeightsArgument = std::optional<py::array_t<float, py::array::c_style | py::array::forcecast>>;

inline WeightedWords words_of(const VectorsArgument& vectors, const Tokenizer& tokenizer,
                              const WeightsArgument& weights) {
  std::vector<float> values;
  if (weights) {
    ST_CHECK(weights->ndim() == 1, InvalidInput, "weights must have one dimension, got ", weights->ndim());
    values.assign(weights->data(), weights->data() + weights->size());
  }
  return {vectors, tokenizer, std::move(values)};
}

}  // namespace sentencode
