#include "sentencode/nn/character_cnn.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"

namespace sentencode {

void bind_character_cnn(py::module_& m) {
  using nn::CharacterCnn;
  bind_nn_module<CharacterCnn>(m, "CharacterCnn", "See sentencode.nn.CharacterCnn.")
      .def(py::init([](std::string alphabet, std::int64_t features, std::int64_t filters,
                       std::vector<std::int64_t> windows) {
             return std::make_shared<CharacterCnn>(
                 nn::CharacterCnnOptions{std::move(alphabet), features, filters, std::move(windows)});
           }),
           py::arg("alphabet"), py::arg("features"), py::arg("filters"), py::arg("windows"))
      .def_property_readonly("dim", &CharacterCnn::dim)
      .def("forward", &CharacterCnn::forward, py::arg("characters"), Release());
}

}  // namespace sentencode
