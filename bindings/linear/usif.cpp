#include "sentencode/linear/usif.h"

#include "bindings.h"
#include "vectors/arguments.h"

namespace sentencode {

void bind_usif(py::module_& m) {
  py::class_<Usif, CommonDirections, std::shared_ptr<Usif>>(
      m, "USIF", "Sentence means minus scaled projections on common directions.")
      .def(py::init([](const VectorsArgument& vectors, const Tokenizer& tokenizer,
                       const WeightsArgument& weights, std::int64_t components, std::string_view normalize) {
             return std::make_shared<Usif>(words_of(vectors, tokenizer, weights), components,
                                           parse_enum<Usif::Normalize>(normalize));
           }),
           py::arg("vectors"), py::arg("tokenizer"), py::arg("weights"), py::kw_only(), py::arg("components"),
           py::arg("normalize"))
      .def_property_readonly("normalize", [](const Usif& self) { return name_of(self.normalize()); });
}

}  // namespace sentencode
