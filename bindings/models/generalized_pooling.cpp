#include "sentencode/models/generalized_pooling.h"

#include <torch/csrc/utils/pybind.h>

#include "py.h"

namespace sentencode {

void bind_generalized_pooling_network(py::module_& m) {
  using models::GeneralizedPoolingNetwork;
  py::class_<GeneralizedPoolingNetwork, models::SentenceNetwork, std::shared_ptr<GeneralizedPoolingNetwork>>(
      m.attr("GeneralizedPoolingNetwork"))
      .def(
          "attention",
          [](const GeneralizedPoolingNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.attention(models::Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release())
      .def("load_words", &GeneralizedPoolingNetwork::load_words, py::arg("rows"), Release());
}

}  // namespace sentencode
