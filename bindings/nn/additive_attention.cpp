#include "sentencode/nn/additive_attention.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

void bind_additive_attention(py::module_& m) {
  using nn::AdditiveAttention;
  bind_nn_module<AdditiveAttention>(m, "AdditiveAttention", "See sentencode.nn.AdditiveAttention.")
      .def(py::init([](std::int64_t query_features, std::int64_t memory_features, std::int64_t features,
                       bool bias) {
             return std::make_shared<AdditiveAttention>(
                 nn::AdditiveAttentionOptions{query_features, memory_features, features, bias});
           }),
           py::arg("query_features"), py::arg("memory_features"), py::arg("features"), py::arg("bias"))
      .def(
          "forward",
          [](const AdditiveAttention& self, const at::Tensor& query, const at::Tensor& memory,
             const MaybeTensor& key_mask) { return self.forward(query, memory, or_undefined(key_mask)); },
          py::arg("query"), py::arg("memory"), py::arg("key_mask"), Release())
      .def(
          "project",
          [](const AdditiveAttention& self, const at::Tensor& memory, const MaybeTensor& key_mask) {
            const auto [keys, values] = self.project(memory, or_undefined(key_mask));
            return std::make_pair(keys, values);
          },
          py::arg("memory"), py::arg("key_mask"), Release())
      .def(
          "attend",
          [](const AdditiveAttention& self, const at::Tensor& query, const at::Tensor& keys,
             const at::Tensor& values, const MaybeTensor& key_mask) {
            return self.attend(query, {keys, values}, or_undefined(key_mask));
          },
          py::arg("query"), py::arg("keys"), py::arg("values"), py::arg("key_mask"), Release());
}

}  // namespace sentencode
