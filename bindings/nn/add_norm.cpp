#include "sentencode/nn/add_norm.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"

namespace sentencode {

void bind_add_norm(py::module_& m) {
  using nn::AddNorm;
  bind_nn_module<AddNorm>(m, "AddNorm", "See sentencode.nn.AddNorm.")
      .def(py::init<std::int64_t, double, double>(), py::arg("features"), py::arg("epsilon"),
           py::arg("dropout"))
      .def(
          "forward",
          [](const AddNorm& self, const at::Tensor& given, const MaybeTensor& residual) {
            return self.forward(given, or_undefined(residual));
          },
          py::arg("given"), py::arg("residual"), Release());
}

}  // namespace sentencode
