#include "sentencode/training/model.h"

#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"

namespace sentencode {

void bind_model(py::module_& m) { bind_nn_module<training::Model>(m, "Model", "What a trainer trains."); }

}  // namespace sentencode
