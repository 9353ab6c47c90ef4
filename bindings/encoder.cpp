#include "sentencode/encoder.h"

#include "arrays.h"
#include "bindings.h"
#include "sentences.h"

namespace sentencode {

void bind_encoder(py::module_& m) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<Encoder, std::shared_ptr<Encoder>>(m, "Encoder", "Sentences in, one row each out.")
      .def_property_readonly("kind", &Encoder::kind)
      .def_property_readonly("dim", &Encoder::dim)
      .def(
          "encode_into",
          [](const Encoder& self, const py::object& sentences, py::array out) {
            const SentencesArgument argument(sentences);
            const MatrixView view = writable_matrix_view(out, "out");
            const py::gil_scoped_release released;
            self.encode(argument.get(), view);
          },
          py::arg("sentences"), py::arg("out").noconvert(), "Fills float32 [n, dim] in place.");
  m.def(
      "load_encoder", [](const std::string& path) { return std::shared_ptr<Encoder>(load_encoder(path)); },
      py::arg("path"), Release(), "Any saved encoder, as the class that it was saved from.");
  m.def("encoder_config", &encoder_config, py::arg("path"), Release(),
        "What a saved encoder says of itself, as JSON: kind, config, params.");
}

}  // namespace sentencode
