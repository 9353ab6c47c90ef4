#include "sentencode/training/model.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"

namespace sentencode {

void bind_model(py::module_& m) {
  bind_nn_module<training::Model>(m, "Model", "A module with a loss.")
      .def_property_readonly("figures", &training::Model::figures, "Names of further values of a loss.");
}

}  // namespace sentencode
