#include "sentencode/linear/linear_encoder.h"

#include "arrays.h"
#include "bindings.h"
#include "encoder.h"
#include "linear/arguments.h"
#include "paths.h"
#include "sentences.h"

namespace sentencode {

void bind_linear_encoder(py::module_& m) {
  py::class_<LinearEncoder, Encoder, std::shared_ptr<LinearEncoder>>(m, "LinearEncoder",
                                                                     "An encoder of weighted word vectors.")
      .def_property_readonly("fitted", getter(&LinearEncoder::fitted))
      .def_property_readonly("vectors",
                             [](const LinearEncoder& self) {
                               return std::const_pointer_cast<WordVectors>(self.words().vectors());
                             })
      .def_property_readonly("tokenizer", [](const LinearEncoder& self) { return self.words().tokenizer(); })
      .def_property_readonly("weights",
                             [](const LinearEncoder& self) -> py::object {
                               const auto weights = self.words().weights();
                               if (weights.empty()) return py::none();
                               return py::array_t<float>(std::ssize(weights), weights.data());
                             })
      .def_property("params", getter(&LinearEncoder::params), getter(&LinearEncoder::set_params))
      .def("partial_fit", with_sentences(&LinearEncoder::partial_fit), py::arg("sentences"),
           "Adds sentences to the statistics.")
      .def("solve", &LinearEncoder::solve, Release(),
           "Computes the parameters from the statistics, if these have changed.")
      .def(
          "encode_into",
          [](LinearEncoder& self, const py::object& sentences, py::array out) {
            {
              const WithoutGil released;
              self.solve();
            }
            encode_into(self, sentences, std::move(out));
          },
          py::arg("sentences"), py::arg("out").noconvert(),
          "Writes embeddings to float32 [n, dim]. Solves first if necessary.")
      .def(
          "save",
          [](LinearEncoder& self, const Path& path, bool vectors, bool statistics) {
            self.solve();
            using Vectors = SaveOptions::Vectors;
            self.save(path, {vectors ? Vectors::embedded : Vectors::referred_to, statistics});
          },
          py::arg("path"), py::kw_only(), py::arg("vectors") = true, py::arg("statistics") = false, Release())
      .def(
          "to_bytes",
          [](const LinearEncoder& self, bool statistics) {
            const std::string bytes = [&] {
              const WithoutGil released;
              return self.to_bytes(statistics);
            }();
            return py::bytes(bytes);
          },
          py::arg("statistics"), "Everything but the vectors, without solving.");
  m.def(
      "encoder_from_bytes",
      [](std::string bytes, const VectorsArgument& vectors) {
        return std::shared_ptr<LinearEncoder>(LinearEncoder::from_bytes(std::move(bytes), vectors));
      },
      py::arg("bytes"), py::arg("vectors"), Release(), "The encoder that to_bytes was called on.");
}

}  // namespace sentencode
