#include "sentencode/linear/common_directions.h"

#include "bindings.h"
#include "linear/arguments.h"
#include "sentences.h"

namespace sentencode {
namespace {

py::object moment_of(const CommonDirections& self) {
  const auto moment = without_gil([&] { return self.statistics(); });
  if (!moment) return py::none();
  py::dict result;
  result["moment"] = array_of(moment->sum());
  result["count"] = moment->count();
  return result;
}

py::dict select_components(CommonDirections& self, const py::object& first, const py::object& second,
                           const ScoresArgument& scores, std::int64_t largest) {
  const SentencesArgument one(first, "first"), two(second, "second");
  const auto gold = scores_of(scores);
  const Curve curve = [&] {
    const WithoutGil release;
    self.solve();
    return self.select(one.get(), two.get(), gold, largest);
  }();
  return dict_of(curve);
}

}  // namespace

void bind_common_directions(py::module_& m) {
  using Self = CommonDirections;
  py::class_<Self, LinearEncoder, std::shared_ptr<Self>>(m, "CommonDirections",
                                                         "Sentence means without their common directions.")
      .def_property_readonly("components", &Self::components)
      .def_property_readonly(
          "directions",
          [](const Self& self) { return array_of(without_gil([&] { return self.directions(); })); })
      .def_property_readonly(
          "singular_values",
          [](const Self& self) { return array_of(without_gil([&] { return self.singular_values(); })); })
      .def_property_readonly(
          "factors", [](const Self& self) { return array_of(without_gil([&] { return self.factors(); })); })
      .def("merge", &Self::merge, py::arg("other"), Release())
      .def("statistics", &moment_of, "Second moment and count of the sentence means; None: loaded without.")
      .def(
          "set_statistics",
          [](Self& self, const py::dict& from) {
            SecondMoment moment(matrix_in<double>(from, "moment"), from["count"].cast<std::int64_t>());
            without_gil([&] { self.set_statistics(std::move(moment)); });
          },
          py::arg("statistics"))
      .def("select", &select_components, py::arg("first"), py::arg("second"), py::arg("scores"),
           py::arg("largest"),
           "Pearson correlations of the pairs' cosines with the scores, for 0 to `largest` components.");
}

}  // namespace sentencode
