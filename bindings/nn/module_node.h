// C++ modules for sentencode.nn.CppModule, which makes a torch.nn.Module of them.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "py.h"

namespace sentencode {

/// One module of a tree.
struct ModuleNode {
  std::shared_ptr<torch::nn::Module> module;

  using Tensors = std::vector<std::pair<std::string, at::Tensor>>;
  Tensors parameters() const;
  Tensors buffers() const;
  std::vector<std::pair<std::string, ModuleNode>> children() const;
};

/// Binds a C++ module; the caller adds constructor and forward.
template <typename Module>
py::class_<Module, std::shared_ptr<Module>> bind_nn_module(py::module_& m, const char* name,
                                                           const char* doc) {
  return py::class_<Module, std::shared_ptr<Module>>(m, name, doc)
      .def(
          "node", [](std::shared_ptr<Module> self) { return ModuleNode{std::move(self)}; },
          "The root of the module's tree.");
}

}  // namespace sentencode
