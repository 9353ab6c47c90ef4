#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"
#include "sentencode/nn/pooling.h"

namespace sentencode {

void bind_masked_pooling(py::module_& m) {
  using nn::MaskedPooling;
  bind_nn_module<MaskedPooling>(m, "MaskedPooling", "See sentencode.nn.MaskedPooling.")
      .def(py::init([](const std::string& pooling) {
             return std::make_shared<MaskedPooling>(parse_enum<nn::Pooling>(pooling));
           }),
           py::arg("pooling"))
      .def("forward", &MaskedPooling::forward, py::arg("x"), py::arg("mask"), Release());
}

}  // namespace sentencode
