#include "sentencode/nn/conditional_gru.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

namespace {

std::tuple<at::Tensor, at::Tensor, at::Tensor> as_tuple(const nn::ConditionalStates& outputs) {
  return {outputs.states, outputs.contexts, outputs.weights};
}

}  // namespace

void bind_conditional_gru(py::module_& m) {
  using nn::ConditionalGRU;
  bind_nn_module<ConditionalGRU>(m, "ConditionalGRU", "See sentencode.nn.ConditionalGRU.")
      .def(py::init([](std::int64_t features, std::int64_t hidden, std::int64_t memory_features,
                       std::int64_t attention) {
             return std::make_shared<ConditionalGRU>(
                 nn::ConditionalGRUOptions{features, hidden, memory_features, attention});
           }),
           py::arg("features"), py::arg("hidden"), py::arg("memory_features"), py::arg("attention"))
      .def(
          "forward",
          [](const ConditionalGRU& self, const at::Tensor& x, const at::Tensor& state,
             const at::Tensor& memory, const MaybeTensor& memory_mask, const MaybeTensor& lengths) {
            return as_tuple(self.forward(x, state, memory, or_undefined(memory_mask), or_undefined(lengths)));
          },
          py::arg("x"), py::arg("state"), py::arg("memory"), py::arg("memory_mask"), py::arg("lengths"),
          Release())
      .def(
          "project",
          [](const ConditionalGRU& self, const at::Tensor& memory, const MaybeTensor& memory_mask) {
            const auto [keys, values] = self.project(memory, or_undefined(memory_mask));
            return std::make_pair(keys, values);
          },
          py::arg("memory"), py::arg("memory_mask"), Release())
      .def(
          "step",
          [](const ConditionalGRU& self, const at::Tensor& x, const at::Tensor& state, const at::Tensor& keys,
             const at::Tensor& values, const MaybeTensor& memory_mask) {
            return as_tuple(self.step(x, state, {keys, values}, or_undefined(memory_mask)));
          },
          py::arg("x"), py::arg("state"), py::arg("keys"), py::arg("values"), py::arg("memory_mask"),
          Release());
}

}  // namespace sentencode
