#include "sentencode/models/networks.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <type_traits>

#include "models/arguments.h"
#include "py.h"
#include "sentencode/error.h"

namespace sentencode {

namespace {

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
  m.def("described_options", &models::described_options, py::arg("name"),
        "The options of a network or head as JSON: name, kind, default, choices, low, high, below, above, "
        "text.");
}

}  // namespace sentencode
