#include "sentencode/models/heads.h"

#include <ATen/Functions.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/arguments.h"
#include "nn/maybe_tensor.h"
#include "nn/module_node.h"
#include "py.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode {

namespace {

/// Checks those options of a head that are arguments.
void check_options(const std::string& head, const py::kwargs& keywords) {
  models::for_heads([&](const auto& kind) {
    if (head != kind.name) return;
    const Arguments arguments(keywords);
    typename std::remove_cvref_t<decltype(kind)>::Options options;
    models::for_options(options, [&](const char* name, auto& value, const models::About& about) {
      if (!arguments.contains(name)) return;
      arguments(name, value, about);
      models::check_range(name, value, about);
    });
    arguments.finish();
    models::check_together(options);
  });
}

}  // namespace

void bind_heads(py::module_& m) {
  using models::Head;
  bind_nn_module<Head>(m, "Head", "A loss on sentence embeddings.")
      .def("config", &Head::config, "Kind and options as JSON.")
      .def(
          "loss",
          [](Head& self, const std::vector<at::Tensor>& rows, const MaybeTensor& labels) {
            const training::Loss loss = self.loss(rows, or_undefined(labels));
            return std::make_tuple(loss.sum, loss.count, if_defined(loss.right));
          },
          py::arg("rows"), py::arg("labels"), Release())
      .def(
          "predict",
          [](Head& head, const std::vector<at::Tensor>& rows) {
            const nn::Evaluating evaluating;  // other threads may train it
            return head.predict(rows);
          },
          py::arg("rows"), Release());
  py::class_<models::Classifier, Head, std::shared_ptr<models::Classifier>>(m, "Classifier",
                                                                            "See sentencode.Classifier.")
      .def("set_class_weights", &models::Classifier::set_class_weights, py::arg("weights"), Release());
  py::class_<models::RowRegression, Head, std::shared_ptr<models::RowRegression>>(
      m, "RowRegression", "See sentencode.RowRegression.")
      .def("set_targets", &models::RowRegression::set_targets, py::arg("rows"), Release());
  m.def("check_options", &check_options, py::arg("head"),
        "ValueError or TypeError for one of the keyword arguments, which are options of the head.");
  m.def("make_head", &models::make_head, py::arg("config"), "A head with the options of a config.");
}

}  // namespace sentencode
