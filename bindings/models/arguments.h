// Constructors of networks, whose arguments are their options.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <type_traits>

#include "sentencode/error.h"
#include "sentencode/models/options.h"

namespace sentencode {

namespace py = pybind11;

/// Keyword arguments, every one of which is to be there and to be taken.
class Arguments {
 public:
  explicit Arguments(const py::kwargs& given) : left_(given.attr("copy")()) {}

  template <typename T>
  void operator()(const char* name, T& value) const {
    if (!left_.contains(name)) throw py::type_error(concat("missing argument '", name, "'"));
    const py::object given = left_.attr("pop")(name);
    // True is no number here, and what is not empty is not true.
    if (std::is_same_v<T, bool> != py::isinstance<py::bool_>(given)) throw wrong<T>(name, given);
    try {
      if constexpr (std::is_enum_v<T>) {
        models::parse(given.cast<std::string>(), value);
      } else {
        value = given.cast<T>();
      }
    } catch (const py::cast_error&) {
      throw wrong<T>(name, given);
    }
  }

  void finish() const {
    for (const auto& [name, value] : left_) {
      throw py::type_error(concat("unknown argument '", name.cast<std::string>(), "'"));
    }
  }

 private:
  template <typename T>
  static py::type_error wrong(const char* name, const py::object& given) {
    const char* kind = std::is_enum_v<T>             ? "a str"
                       : std::is_same_v<T, bool>     ? "True or False"
                       : std::is_integral_v<T>       ? "a whole number"
                       : std::is_floating_point_v<T> ? "a number"
                                                     : "whole numbers";
    return py::type_error(concat(name, " must be ", kind, ", got ", py::repr(given).cast<std::string>(), " (",
                                 py::type::of(given).attr("__name__").cast<std::string>(), ")"));
  }

  py::dict left_;
};

/// The Python class of a network.
template <typename Network, typename Options>
py::class_<Network, models::Autoencoder, std::shared_ptr<Network>> bind_autoencoder_class(py::module_& m,
                                                                                          const char* name,
                                                                                          const char* doc) {
  return py::class_<Network, models::Autoencoder, std::shared_ptr<Network>>(m, name, doc)
      .def(py::init([](const py::kwargs& given) {
        const Arguments arguments(given);
        models::AutoencoderOptions words;
        Options own;
        models::for_options(words, arguments);
        models::for_options(own, arguments);
        arguments.finish();
        return std::make_shared<Network>(words, own);
      }));
}

}  // namespace sentencode
