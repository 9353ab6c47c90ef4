#include "sentencode/nn/attention.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

void bind_attention(py::module_& m) {
  using nn::FeedForward;
  using nn::MultiHeadAttention;
  bind_nn_module<MultiHeadAttention>(m, "MultiHeadAttention", "See sentencode.nn.MultiHeadAttention.")
      .def(py::init([](std::int64_t query_features, std::int64_t memory_features, std::int64_t features,
                       std::int64_t heads, const std::string& activation, bool output_projection, bool bias,
                       double dropout, double scale) {
             return std::make_shared<MultiHeadAttention>(nn::AttentionOptions{
                 query_features, memory_features, features, heads, parse_enum<nn::Activation>(activation),
                 output_projection, bias, dropout, scale});
           }),
           py::arg("query_features"), py::arg("memory_features"), py::arg("features"), py::arg("heads"),
           py::arg("activation"), py::arg("output_projection"), py::arg("bias"), py::arg("dropout"),
           py::arg("scale"))
      .def(
          "forward",
          [](const MultiHeadAttention& self, const at::Tensor& query, const at::Tensor& key,
             const at::Tensor& value, const MaybeTensor& key_mask,
             bool causal) { return self.forward(query, key, value, or_undefined(key_mask), causal); },
          py::arg("query"), py::arg("key"), py::arg("value"), py::arg("key_mask"), py::arg("causal"),
          Release())
      .def(
          "with_weights",
          [](const MultiHeadAttention& self, const at::Tensor& query, const at::Tensor& key,
             const at::Tensor& value, const MaybeTensor& key_mask,
             bool causal) { return self.with_weights(query, key, value, or_undefined(key_mask), causal); },
          py::arg("query"), py::arg("key"), py::arg("value"), py::arg("key_mask"), py::arg("causal"),
          Release())
      .def(
          "project",
          [](const MultiHeadAttention& self, const at::Tensor& key, const at::Tensor& value,
             const MaybeTensor& key_mask) {
            const auto [keys, values] = self.project(key, value, or_undefined(key_mask));
            return std::make_pair(keys, values);
          },
          py::arg("key"), py::arg("value"), py::arg("key_mask"), Release())
      .def(
          "attend",
          [](const MultiHeadAttention& self, const at::Tensor& query, const at::Tensor& keys,
             const at::Tensor& values, const MaybeTensor& key_mask, bool causal) {
            return self.attend(query, {keys, values}, or_undefined(key_mask), causal);
          },
          py::arg("query"), py::arg("keys"), py::arg("values"), py::arg("key_mask"), py::arg("causal"),
          Release());
  bind_nn_module<FeedForward>(m, "FeedForward", "See sentencode.nn.FeedForward.")
      .def(py::init(
               [](std::int64_t features, std::int64_t hidden, const std::string& activation, double dropout) {
                 return std::make_shared<FeedForward>(features, hidden,
                                                      parse_enum<nn::Activation>(activation), dropout);
               }),
           py::arg("features"), py::arg("hidden"), py::arg("activation"), py::arg("dropout"))
      .def("forward", &FeedForward::forward, py::arg("x"), Release());
}

}  // namespace sentencode
