#include "sentencode/linear/sif.h"

#include "bindings.h"
#include "vectors/arguments.h"

namespace sentencode {

void bind_sif(py::module_& m) {
  py::class_<Sif, CommonDirections, std::shared_ptr<Sif>>(
      m, "SIF", "Sentence means minus their projection on common directions.")
      .def(py::init([](const VectorsArgument& vectors, const Tokenizer& tokenizer,
                       const WeightsArgument& weights, std::int64_t components) {
             return std::make_shared<Sif>(words_of(vectors, tokenizer, weights), components);
           }),
           py::arg("vectors"), py::arg("tokenizer"), py::arg("weights"), py::kw_only(), py::arg("components"))
      .def(
          "with_components",
          [](const Sif& self, std::int64_t components) {
            return std::shared_ptr<Sif>(self.with_components(components));
          },
          py::arg("components"), Release());
}

}  // namespace sentencode
