#include "sentencode/nn/embedding.h"

#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"

namespace sentencode {

void bind_embedding(py::module_& m) {
  using nn::Positions;
  using nn::WordEmbedding;
  bind_nn_module<WordEmbedding>(m, "WordEmbedding", "See sentencode.nn.WordEmbedding.")
      .def(py::init<std::int64_t, std::int64_t, bool>(), py::arg("words"), py::arg("features"),
           py::arg("trainable"))
      .def("forward", &WordEmbedding::forward, py::arg("ids"), Release())
      .def("load", &WordEmbedding::load, py::arg("vectors"), Release())
      .def("expand", &WordEmbedding::expand, py::arg("vectors"), Release());
  bind_nn_module<Positions>(m, "Positions", "See sentencode.nn.Positions.")
      .def(py::init([](std::int64_t features, const std::string& kind, std::int64_t length,
                       const std::string& beyond) {
             return std::make_shared<Positions>(features, parse_enum<nn::PositionEncoding>(kind, "kind"),
                                                length, parse_enum<nn::Beyond>(beyond));
           }),
           py::arg("features"), py::arg("kind"), py::arg("length"), py::arg("beyond"))
      .def("forward", &Positions::forward, py::arg("x"), py::arg("begin"), Release());
}

}  // namespace sentencode
