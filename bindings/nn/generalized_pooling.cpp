#include "sentencode/nn/generalized_pooling.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

void bind_generalized_pooling(py::module_& m) {
  using nn::AttentionPooling;
  const auto as_pair = [](const nn::HeadPenalty& p) { return std::make_pair(p.loss, p.active); };
  m.def(
      "head_penalty",
      [as_pair](const at::Tensor& heads, double lambda, bool batch_distance) {
        return as_pair(nn::head_penalty(heads, lambda, batch_distance));
      },
      py::arg("heads"), py::arg("lambda_"), py::arg("batch_distance"), "See sentencode.nn.head_penalty.",
      Release());
  bind_nn_module<AttentionPooling>(m, "AttentionPooling", "See sentencode.nn.AttentionPooling.")
      .def(py::init([](std::int64_t features, std::int64_t hidden, std::int64_t heads,
                       const std::string& scores, const std::string& activation, bool bias) {
             return std::make_shared<AttentionPooling>(
                 nn::AttentionPoolingOptions{features, hidden, heads, parse_enum<nn::Scores>(scores),
                                             parse_enum<nn::Activation>(activation), bias});
           }),
           py::arg("features"), py::arg("hidden"), py::arg("heads"), py::arg("scores"), py::arg("activation"),
           py::arg("bias"))
      .def(
          "forward",
          [](const AttentionPooling& self, const at::Tensor& h, const MaybeTensor& lengths) {
            return self.forward(h, or_undefined(lengths));
          },
          py::arg("h"), py::arg("lengths"), Release())
      .def(
          "composed",
          [](const AttentionPooling& self, const at::Tensor& h, const MaybeTensor& lengths, bool kernel) {
            return self.composed(h, or_undefined(lengths), kernel);
          },
          py::arg("h"), py::arg("lengths") = py::none(), py::arg("kernel") = false, Release())
      .def(
          "weights",
          [](const AttentionPooling& self, const at::Tensor& h, const MaybeTensor& lengths) {
            return self.weights(h, or_undefined(lengths));
          },
          py::arg("h"), py::arg("lengths"), Release())
      .def(
          "penalty",
          [as_pair](const AttentionPooling& self, const std::string& penalty, const MaybeTensor& h,
                    const MaybeTensor& lengths, const MaybeTensor& pooled, double lambda,
                    bool batch_distance) {
            return as_pair(self.penalty(parse_enum<nn::Penalty>(penalty), or_undefined(h),
                                        or_undefined(lengths), or_undefined(pooled), lambda, batch_distance));
          },
          py::arg("penalty"), py::arg("h"), py::arg("lengths"), py::arg("pooled"), py::arg("lambda_"),
          py::arg("batch_distance"), Release());
}

}  // namespace sentencode
