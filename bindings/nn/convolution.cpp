#include "sentencode/nn/convolution.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

void bind_convolution(py::module_& m) {
  using nn::Convolution;
  bind_nn_module<Convolution>(m, "Convolution", "See sentencode.nn.Convolution.")
      .def(py::init([](std::int64_t features, std::int64_t filters, std::int64_t window,
                       const std::string& activation, const std::string& padding) {
             return std::make_shared<Convolution>(features, filters, window,
                                                  parse_enum<nn::Activation>(activation),
                                                  parse_enum<nn::Padding>(padding));
           }),
           py::arg("features"), py::arg("filters"), py::arg("window"), py::arg("activation"),
           py::arg("padding"))
      .def(
          "forward",
          [](const Convolution& self, const at::Tensor& x, const MaybeTensor& mask) {
            return self.forward(x, or_undefined(mask));
          },
          py::arg("x"), py::arg("mask"), Release())
      .def("step", &Convolution::step, py::arg("x"), py::arg("cache"), Release())
      .def("empty_cache", &Convolution::empty_cache, py::arg("batch"), py::arg("like"), Release());
}

}  // namespace sentencode
