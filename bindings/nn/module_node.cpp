#include "nn/module_node.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

namespace sentencode {

namespace {

ModuleNode::Tensors items(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  ModuleNode::Tensors named;
  for (const auto& item : tensors) {
    if (item.value().defined()) named.emplace_back(item.key(), item.value());
  }
  return named;
}

}  // namespace

ModuleNode::Tensors ModuleNode::parameters() const {
  return items(module->named_parameters(/*recurse=*/false));
}

ModuleNode::Tensors ModuleNode::buffers() const { return items(module->named_buffers(/*recurse=*/false)); }

std::vector<std::pair<std::string, ModuleNode>> ModuleNode::children() const {
  std::vector<std::pair<std::string, ModuleNode>> nodes;
  for (const auto& item : module->named_children()) nodes.emplace_back(item.key(), ModuleNode{item.value()});
  return nodes;
}

void bind_module_node(py::module_& m) {
  py::class_<ModuleNode>(m, "ModuleNode", "One module of a tree of C++ modules.")
      .def_property_readonly("name", [](const ModuleNode& node) { return node.module->name(); })
      .def("parameters", &ModuleNode::parameters, "Names and tensors of this module, without its children.")
      .def("buffers", &ModuleNode::buffers, "Names and tensors of this module, without its children.")
      .def("children", &ModuleNode::children, "Names and nodes of the children.")
      .def(
          "train", [](const ModuleNode& node, bool mode) { node.module->train(mode); }, py::arg("mode"),
          "Sets the mode of this module and its descendants.");
}

}  // namespace sentencode
