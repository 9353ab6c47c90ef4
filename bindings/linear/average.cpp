#include "sentencode/linear/average.h"

#include "bindings.h"
#include "vectors/arguments.h"

namespace sentencode {

void bind_average(py::module_& m) {
  py::class_<Average, LinearEncoder, std::shared_ptr<Average>>(
      m, "Average", "The mean of a sentence's weighted word vectors.")
      .def(py::init([](const VectorsArgument& vectors, const Tokenizer& tokenizer,
                       const WeightsArgument& weights, bool normalize, std::int64_t truncate_dim) {
             return std::make_shared<Average>(words_of(vectors, tokenizer, weights), normalize, truncate_dim);
           }),
           py::arg("vectors"), py::arg("tokenizer"), py::arg("weights") = py::none(), py::kw_only(),
           py::arg("normalize") = false, py::arg("truncate_dim") = 0)
      .def_property_readonly("normalize", &Average::normalize)
      .def_property_readonly("truncate_dim", &Average::truncate_dim);
}

}  // namespace sentencode
