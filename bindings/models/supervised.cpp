#include "sentencode/models/supervised.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <utility>

#include "models/batch_of.h"
#include "nn/maybe_tensor.h"
#include "py.h"

namespace sentencode {

void bind_supervised(py::module_& m) {
  using models::SupervisedModel;
  py::class_<SupervisedModel, training::Model, std::shared_ptr<SupervisedModel>>(
      m, "SupervisedModel", "A network and a head that is trained on its embeddings.")
      .def(py::init([](std::shared_ptr<models::SentenceNetwork> network, std::shared_ptr<models::Head> head,
                       const at::Tensor& vectors, const at::Tensor& known, const at::Tensor& ids,
                       const MaybeTensor& characters, double word_dropout) {
             return std::make_shared<SupervisedModel>(
                 std::move(network), std::move(head),
                 models::Words{vectors, known, ids, or_undefined(characters)}, word_dropout);
           }),
           py::arg("network"), py::arg("head"), py::arg("vectors"), py::arg("known"), py::arg("ids"),
           py::arg("characters"), py::arg("word_dropout") = 0)
      .def(
          "embed", [](SupervisedModel& self, const Fields& fields) { return self.embed(batch_of(fields)); },
          py::arg("fields"), Release());
}

}  // namespace sentencode
