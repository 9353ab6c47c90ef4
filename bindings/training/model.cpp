#include "sentencode/training/model.h"

#include "nn/module_node.h"

namespace sentencode {

void bind_model(py::module_& m) {
  bind_nn_module<training::Model>(m, "Model", "What a trainer trains: a C++ module that gives a loss.");
}

}  // namespace sentencode
