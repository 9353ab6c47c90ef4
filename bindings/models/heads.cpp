#include "sentencode/models/heads.h"

#include <ATen/Functions.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>
#include <utility>
#include <vector>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"
#include "py.h"
#include "sentencode/models/supervised.h"

namespace sentencode {

void bind_heads(py::module_& m) {
  using models::Head;
  using models::SupervisedModel;
  bind_nn_module<Head>(m, "Head", "What is learnt from the rows of sentences.")
      .def("config", &Head::config, "Its kind and options as JSON.")
      .def(
          "loss",
          [](Head& self, const std::vector<at::Tensor>& rows, const MaybeTensor& labels) {
            const training::Loss found = self.loss(rows, or_undefined(labels));
            return std::make_tuple(found.sum, found.count, if_defined(found.right));
          },
          py::arg("rows"), py::arg("labels"), Release())
      .def("predict", &Head::predict, py::arg("rows"), Release());
  py::class_<models::Classifier, Head, std::shared_ptr<models::Classifier>>(m, "Classifier",
                                                                            "See sentencode.Classifier.")
      .def("set_class_weights", &models::Classifier::set_class_weights, py::arg("weights"), Release());
  py::class_<models::RowRegression, Head, std::shared_ptr<models::RowRegression>>(
      m, "RowRegression", "See sentencode.RowRegression.")
      .def("set_targets", &models::RowRegression::set_targets, py::arg("rows"), Release());
  m.def("make_head", &models::make_head, py::arg("config"),
        "A head of the JSON that its config says, with weights of its own.");
  py::class_<SupervisedModel, training::Model, std::shared_ptr<SupervisedModel>>(
      m, "SupervisedModel", "A network whose rows a head learns from.")
      .def(py::init([](std::shared_ptr<models::SentenceNetwork> network, std::shared_ptr<Head> head,
                       const at::Tensor& vectors, const at::Tensor& known, const at::Tensor& ids,
                       const MaybeTensor& characters) {
             return std::make_shared<SupervisedModel>(
                 std::move(network), std::move(head),
                 models::Words{vectors, known, ids, or_undefined(characters)});
           }),
           py::arg("network"), py::arg("head"), py::arg("vectors"), py::arg("known"), py::arg("ids"),
           py::arg("characters"));
}

}  // namespace sentencode
