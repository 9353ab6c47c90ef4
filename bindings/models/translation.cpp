#include "sentencode/models/translation.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "py.h"

namespace sentencode {

void bind_translation_network(py::module_& m) {
  using models::Sequences;
  using models::TranslationNetwork;
  py::class_<TranslationNetwork, models::WritingNetwork, nn::Decoder, std::shared_ptr<TranslationNetwork>>(
      m.attr("TranslationNetwork"))
      .def("load_source_words", &TranslationNetwork::load_source_words, py::arg("rows"), Release())
      .def(
          "read",
          [](TranslationNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.read(Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release())
      .def(
          "inner_attention",
          [](TranslationNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.inner_attention(Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release())
      .def("attention", &TranslationNetwork::attention, py::arg("memory"), py::arg("ids"), py::arg("lengths"),
           py::arg("layer"), Release());
}

}  // namespace sentencode
