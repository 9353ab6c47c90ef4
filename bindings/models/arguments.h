// Options of C++ as Python's keyword arguments.
#pragma once

#include <pybind11/stl.h>

#include <string>
#include <type_traits>

#include "py.h"
#include "sentencode/error.h"
#include "sentencode/models/options.h"

namespace sentencode {

/// Reads options from keyword arguments. TypeError for one that is missing, unknown or of the wrong type.
class Arguments {
 public:
  explicit Arguments(const py::kwargs& arguments) : left_(arguments.attr("copy")()) {}

  bool contains(const char* name) const { return left_.contains(name); }

  template <typename T>
  void operator()(const char* name, T& value, const models::About& /*about*/) const {
    if (!contains(name)) throw py::type_error(concat("missing argument '", name, "'"));
    const py::object argument = left_.attr("pop")(name);
    // pybind11 would convert True to a number, and everything to a bool.
    if (std::is_same_v<T, bool> != py::isinstance<py::bool_>(argument)) throw wrong<T>(name, argument);
    try {
      if constexpr (std::is_enum_v<T>) {
        value = parse_enum<T>(argument.cast<std::string>(), name);
      } else {
        value = argument.cast<T>();
      }
    } catch (const py::cast_error&) {
      throw wrong<T>(name, argument);
    }
  }

  void finish() const {
    for (const auto& [name, value] : left_) {
      throw py::type_error(concat("unknown argument '", name.cast<std::string>(), "'"));
    }
  }

 private:
  template <typename T>
  static py::type_error wrong(const char* name, const py::object& argument) {
    const char* kind = std::is_enum_v<T>                ? "a str"
                       : std::is_same_v<T, bool>        ? "True or False"
                       : std::is_integral_v<T>          ? "a whole number"
                       : std::is_floating_point_v<T>    ? "a number"
                       : std::is_same_v<T, std::string> ? "a str"
                                                        : "whole numbers";
    return py::type_error(concat(name, " must be ", kind, ", got ", py::repr(argument).cast<std::string>(),
                                 " (", py::type::of(argument).attr("__name__").cast<std::string>(), ")"));
  }

  py::dict left_;
};

}  // namespace sentencode
