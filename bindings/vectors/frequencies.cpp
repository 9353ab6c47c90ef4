#include "sentencode/vectors/frequencies.h"

#include "arrays.h"
#include "bindings.h"

namespace sentencode {

void bind_frequencies(py::module_& m) {
  py::class_<Frequencies>(m, "Frequencies",
                          "Probabilities of the words of a table, and of all counted words.")
      .def_static("from_vocabulary", &Frequencies::from_vocabulary, py::arg("vectors"), py::arg("vocabulary"),
                  Release())
      .def_static("from_counts", &Frequencies::from_counts, py::arg("vectors"), Release())
      .def_static("zipf", &Frequencies::zipf, py::arg("vectors"), Release())
      .def_property_readonly("probability",
                             [](const Frequencies& self) { return array_of(self.probability); })
      .def_property_readonly("counted", [](const Frequencies& self) { return array_of(self.counted); })
      .def(
          "sif_weights", [](const Frequencies& self, double a) { return array_of(sif_weights(self, a)); },
          py::arg("a"))
      .def(
          "usif_weights",
          [](const Frequencies& self, double sentence_length) {
            return array_of(usif_weights(self, sentence_length));
          },
          py::arg("sentence_length"));
}

}  // namespace sentencode
