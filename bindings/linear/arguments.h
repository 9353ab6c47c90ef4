// Conversion of statistics and curves of linear encoders.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <vector>

#include "arrays.h"
#include "sentencode/dense.h"
#include "sentencode/error.h"
#include "sentencode/linear/selection.h"
#include "vectors/arguments.h"

namespace sentencode {

namespace py = pybind11;

using ScoresArgument = py::array_t<double, py::array::c_style | py::array::forcecast>;

inline std::span<const double> scores_of(const ScoresArgument& scores) {
  ST_CHECK(scores.ndim() == 1, InvalidInput, "scores must have one dimension, got ", scores.ndim());
  return {scores.data(), static_cast<std::size_t>(scores.size())};
}

/// An array of a dictionary with exactly this type, else KeyError or TypeError.
template <typename T>
py::array_t<T> array_in(const py::dict& dict, const char* key) {
  const py::object value = dict[key];
  if (!py::isinstance<py::array_t<T, py::array::c_style>>(value)) {
    throw py::type_error(concat("statistics: '", key, "' must be a contiguous array of type ",
                                py::str(py::dtype::of<T>()).template cast<std::string>()));
  }
  return value.cast<py::array_t<T>>();
}

template <typename T>
RowMajor<T> matrix_in(const py::dict& dict, const char* key) {
  const py::array_t<T> array = array_in<T>(dict, key);
  ST_CHECK(array.ndim() == 2, InvalidInput, "statistics: '", key, "' must have two dimensions, got ",
           array.ndim());
  return Eigen::Map<const RowMajor<T>>(array.data(), array.shape(0), array.shape(1));
}

template <typename T>
std::vector<T> vector_in(const py::dict& dict, const char* key) {
  const py::array_t<T> array = array_in<T>(dict, key);
  return {array.data(), array.data() + array.size()};
}

inline py::dict dict_of(const Curve& curve) {
  py::dict result;
  result["name"] = curve.name;
  result["settings"] = array_of(curve.settings);
  result["pearson"] = array_of(curve.pearson);
  return result;
}

}  // namespace sentencode
