#include "nn/module_node.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

namespace sentencode {

namespace {

ModuleNode::Tensors items(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  ModuleNode::Tensors result;
  for (const auto& item : tensors) {
    if (item.value().defined()) result.emplace_back(item.key(), item.value());
  }
  return result;
}

}  // namespace

ModuleNode::Tensors ModuleNode::parameters() const {
  return items(module->named_parameters(/*recurse=*/false));
}

ModuleNode::Tensors ModuleNode::buffers() const { return items(module->named_buffers(/*recurse=*/false)); }

std::vector<std::pair<std::string, ModuleNode>> ModuleNode::children() const {
  std::vector<std::pair<std::string, ModuleNode>> result;
  for (const auto& item : module->named_children()) result.emplace_back(item.key(), ModuleNode{item.value()});
  return result;
}

void bind_module_node(py::module_& m) {
  py::class_<ModuleNode>(m, "ModuleNode", "One module of a C++ tree, with its own tensors.")
      .def_property_readonly("name", [](const ModuleNode& node) { return node.module->name(); })
      .def("parameters", &ModuleNode::parameters, "Names and tensors of this module alone.")
      .def("buffers", &ModuleNode::buffers, "Names and tensors of this module alone.")
      .def("children", &ModuleNode::children, "Names and nodes, one level down.")
      .def(
          "train", [](const ModuleNode& node, bool mode) { node.module->train(mode); }, py::arg("mode"),
          "Sets the mode of this module and all below it.");
}

}  // namespace sentencode
