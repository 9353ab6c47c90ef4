#include "sentencode/nn/recurrent.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

void bind_recurrent(py::module_& m) {
  using nn::RecurrentStack;
  bind_nn_module<RecurrentStack>(m, "RecurrentStack", "See sentencode.nn.RecurrentStack.")
      .def(py::init([](const std::string& cell, std::int64_t features, std::int64_t hidden,
                       std::int64_t layers, bool bidirectional, const std::string& shortcuts, double dropout,
                       bool orthogonal, bool layer_norm) {
             return std::make_shared<RecurrentStack>(
                 nn::RecurrentOptions{parse_enum<nn::Cell>(cell), features, hidden, layers, bidirectional,
                                      parse_enum<nn::Shortcuts>(shortcuts), dropout, orthogonal, layer_norm});
           }),
           py::arg("cell"), py::arg("features"), py::arg("hidden"), py::arg("layers"),
           py::arg("bidirectional"), py::arg("shortcuts"), py::arg("dropout"), py::arg("orthogonal"),
           py::arg("layer_norm"))
      .def(
          "forward",
          [](const RecurrentStack& self, const at::Tensor& x, const MaybeTensor& lengths,
             const nn::RecurrentState& state) {
            const auto [output, final_state] = self.forward(x, or_undefined(lengths), state);
            return std::make_tuple(output, final_state);
          },
          py::arg("x"), py::arg("lengths"), py::arg("state"), Release())
      .def("step", &RecurrentStack::step, py::arg("x"), py::arg("state"), Release())
      .def(
          "zero_state",
          [](const RecurrentStack& self, std::int64_t batch, const at::Tensor& like) {
            return self.zero_state(batch, like.options().requires_grad(false));
          },
          py::arg("batch"), py::arg("like"));
}

}  // namespace sentencode
