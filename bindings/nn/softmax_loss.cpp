#include "sentencode/nn/softmax_loss.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

namespace {

auto as_tuple(const nn::SoftmaxLoss& losses) {
  return std::make_tuple(losses.loss, losses.nll, losses.correct, losses.tokens);
}

}  // namespace

void bind_softmax_loss(py::module_& m) {
  m.def(
      "softmax_loss",
      [](const at::Tensor& h, const at::Tensor& weight, const MaybeTensor& bias, const at::Tensor& targets,
         const MaybeTensor& row_weights, double label_smoothing, const std::string& reduction,
         std::int64_t ignore_index, std::int64_t chunk_rows) {
        const nn::SoftmaxLossOptions options{label_smoothing, parse_enum<nn::Reduction>(reduction),
                                             ignore_index, chunk_rows};
        return as_tuple(
            nn::softmax_loss(h, weight, or_undefined(bias), targets, or_undefined(row_weights), options));
      },
      py::arg("h"), py::arg("weight"), py::arg("bias"), py::arg("targets"), py::arg("row_weights"),
      py::arg("label_smoothing"), py::arg("reduction"), py::arg("ignore_index"), py::arg("chunk_rows"),
      "See sentencode.nn.softmax_loss.", Release());
  m.def("log_uniform_distribution", &nn::log_uniform_distribution, py::arg("words"),
        "See sentencode.nn.log_uniform_distribution.");
  m.def("expected_counts", &nn::expected_counts, py::arg("distribution"), py::arg("count"),
        "See sentencode.nn.expected_counts.");
  m.def(
      "draw_negatives",
      [](const at::Tensor& expected, std::optional<at::Generator> generator) {
        return nn::draw_negatives(expected, std::move(generator)).ids;
      },
      py::arg("expected"), py::arg("generator"), "See sentencode.nn.draw_negatives.");
  m.def(
      "sampled_softmax_loss",
      [](const at::Tensor& h, const at::Tensor& weight, const MaybeTensor& bias, const at::Tensor& targets,
         const at::Tensor& ids, const at::Tensor& expected, const MaybeTensor& row_weights,
         const std::string& reduction, std::int64_t ignore_index) {
        nn::SoftmaxLossOptions options;
        options.reduction = parse_enum<nn::Reduction>(reduction);
        options.ignore_index = ignore_index;
        return nn::sampled_softmax_loss(h, weight, or_undefined(bias), targets, {ids, expected},
                                        or_undefined(row_weights), options);
      },
      py::arg("h"), py::arg("weight"), py::arg("bias"), py::arg("targets"), py::arg("ids"),
      py::arg("expected"), py::arg("row_weights"), py::arg("reduction"), py::arg("ignore_index"),
      "See sentencode.nn.sampled_softmax_loss.", Release());

  using nn::WordSoftmax;
  bind_nn_module<WordSoftmax>(m, "WordSoftmax", "See sentencode.nn.WordSoftmax.")
      .def(py::init<std::int64_t, std::int64_t, bool, bool, double>(), py::arg("features"), py::arg("words"),
           py::arg("bias"), py::arg("tied"), py::arg("label_smoothing"))
      .def(
          "forward",
          [](const WordSoftmax& self, const at::Tensor& h, const at::Tensor& targets,
             const MaybeTensor& row_weights, const MaybeTensor& table) {
            return as_tuple(self.forward(h, targets, or_undefined(row_weights), or_undefined(table)));
          },
          py::arg("h"), py::arg("targets"), py::arg("row_weights"), py::arg("table"), Release())
      .def(
          "sampled_loss",
          [](const WordSoftmax& self, const at::Tensor& h, const at::Tensor& targets, const at::Tensor& ids,
             const at::Tensor& expected, const MaybeTensor& row_weights, const MaybeTensor& table) {
            return self.sampled_loss(h, targets, {ids, expected}, or_undefined(row_weights),
                                     or_undefined(table));
          },
          py::arg("h"), py::arg("targets"), py::arg("ids"), py::arg("expected"), py::arg("row_weights"),
          py::arg("table"), Release())
      .def(
          "logits",
          [](const WordSoftmax& self, const at::Tensor& h, const MaybeTensor& table) {
            return self.logits(h, or_undefined(table));
          },
          py::arg("h"), py::arg("table"), Release());
}

}  // namespace sentencode
