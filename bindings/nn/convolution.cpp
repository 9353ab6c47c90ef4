#include "sentencode/nn/convolution.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"

namespace sentencode {

void bind_convolution(py::module_& m) {
  using nn::Convolution;
  bind_nn_module<Convolution>(m, "Convolution", "See sentencode.nn.Convolution.")
      .def(py::init([](std::int64_t features, std::int64_t filters, std::int64_t window,
                       const std::string& activation) {
             return std::make_shared<Convolution>(features, filters, window,
                                                  nn::parse_activation(activation));
           }),
           py::arg("features"), py::arg("filters"), py::arg("window"), py::arg("activation"))
      .def("forward", &Convolution::forward, py::arg("x"), py::arg("mask"), Release());
}

}  // namespace sentencode
