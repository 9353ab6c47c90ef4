#include "sentencode/models/networks.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <type_traits>

#include "py.h"
#include "sentencode/error.h"

namespace sentencode {

namespace {

/// Reads options from keyword arguments: all must be given, and no others.
class Arguments {
 public:
  explicit Arguments(const py::kwargs& arguments) : left_(arguments.attr("copy")()) {}

  template <typename T>
  void operator()(const char* name, T& value, const models::About& /*about*/) const {
    if (!left_.contains(name)) throw py::type_error(concat("missing argument '", name, "'"));
    const py::object argument = left_.attr("pop")(name);
    // pybind11 would convert True to a number, and everything to a bool.
    if (std::is_same_v<T, bool> != py::isinstance<py::bool_>(argument)) throw wrong<T>(name, argument);
    try {
      if constexpr (std::is_enum_v<T>) {
        models::parse(name, argument.cast<std::string>(), value);
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

template <typename Network, typename... Bases>
using Bound = py::class_<Network, Bases..., std::shared_ptr<Network>>;

/// Binds a network class, whose constructor takes its options as keyword arguments.
template <typename Kind>
void bind_network(py::module_& m, const Kind& kind) {
  using Network = typename Kind::Network;
  // The most derived of the bound base classes.
  using Class = std::conditional_t<
      std::is_base_of_v<models::LatentAutoencoder, Network>, Bound<Network, models::LatentAutoencoder>,
      std::conditional_t<
          std::is_base_of_v<models::Autoencoder, Network>, Bound<Network, models::Autoencoder>,
          std::conditional_t<std::is_base_of_v<nn::Decoder, Network>,
                             Bound<Network, models::WritingNetwork, nn::Decoder>,
                             std::conditional_t<std::is_base_of_v<models::WritingNetwork, Network>,
                                                Bound<Network, models::WritingNetwork>,
                                                Bound<Network, models::SentenceNetwork>>>>>;
  const std::string doc = concat("See sentencode.models.", kind.network, ".");
  Class(m, kind.network, doc.c_str()).def(py::init([](const py::kwargs& keywords) {
    const Arguments arguments(keywords);
    typename Kind::Options options;
    models::for_options(options, arguments);
    arguments.finish();
    return std::make_shared<Network>(options);
  }));
}

}  // namespace

void bind_networks(py::module_& m) {
  using models::LatentAutoencoder;
  py::class_<LatentAutoencoder, models::Autoencoder, std::shared_ptr<LatentAutoencoder>>(
      m, "LatentAutoencoder", "An autoencoder whose decoder attends to the pooled vectors.")
      .def(
          "attention",
          [](LatentAutoencoder& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.attention(models::Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release());
  models::for_networks([&](const auto& kind) { bind_network(m, kind); });
  m.def("make_network", &models::make_network, py::arg("config"), "A network with the options of a config.");
  m.def("described_options", &models::described_options, py::arg("network"),
        "The options of a network as JSON: name, kind, default, choices, low, high, below, text.");
}

}  // namespace sentencode
