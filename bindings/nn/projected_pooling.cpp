#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"
#include "sentencode/nn/pooling.h"

namespace sentencode {

void bind_projected_pooling(py::module_& m) {
  using nn::ProjectedPooling;
  bind_nn_module<ProjectedPooling>(m, "ProjectedPooling", "See sentencode.nn.ProjectedPooling.")
      .def(py::init<std::int64_t, std::int64_t, const std::string&, bool>(), py::arg("in_features"),
           py::arg("out_features"), py::arg("pooling"), py::arg("bias"))
      .def("forward", &ProjectedPooling::forward, py::arg("x"), py::arg("mask"), Release());
}

}  // namespace sentencode
