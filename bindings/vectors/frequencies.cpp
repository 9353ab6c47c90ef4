#include "sentencode/vectors/frequencies.h"

#include <pybind11/numpy.h>

#include "bindings.h"

namespace sentencode {
namespace {

template <typename T>
py::array_t<T> array_of_values(const std::vector<T>& values) {
  return py::array_t<T>(std::ssize(values), values.data());
}

}  // namespace

void bind_frequencies(py::module_& m) {
  py::class_<Frequencies>(m, "Frequencies",
                          "How probable the words of one table are, and all that were counted.")
      .def_static("from_vocabulary", &Frequencies::from_vocabulary, py::arg("vectors"), py::arg("vocabulary"),
                  Release())
      .def_static("from_counts", &Frequencies::from_counts, py::arg("vectors"), Release())
      .def_static("zipf", &Frequencies::zipf, py::arg("vectors"), Release())
      .def_property_readonly("probability",
                             [](const Frequencies& self) { return array_of_values(self.probability); })
      .def_property_readonly("counted", [](const Frequencies& self) { return array_of_values(self.counted); })
      .def(
          "sif_weights",
          [](const Frequencies& self, double a) { return array_of_values(sif_weights(self, a)); },
          py::arg("a"))
      .def(
          "usif_weights",
          [](const Frequencies& self, double sentence_length) {
            return array_of_values(usif_weights(self, sentence_length));
          },
          py::arg("sentence_length"));
}

}  // namespace sentencode
