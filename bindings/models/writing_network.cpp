#include "sentencode/models/writing_network.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>

#include "models/batch_of.h"
#include "nn/maybe_tensor.h"
#include "py.h"
#include "sentencode/nn/embedding.h"

namespace sentencode {

void bind_writing_network(py::module_& m) {
  using models::WritingNetwork;
  py::class_<WritingNetwork, models::SentenceNetwork, std::shared_ptr<WritingNetwork>>(
      m, "WritingNetwork", "See sentencode.models.WritingNetwork.")
      .def(
          "loss",
          [](WritingNetwork& self, const Fields& fields) {
            const training::Loss loss = self.loss(batch_of(fields));
            return std::make_tuple(loss.sum, loss.count, if_defined(loss.right), if_defined(loss.figures));
          },
          py::arg("fields"), Release())
      .def(
          "load_words",
          [](WritingNetwork& self, const at::Tensor& rows) { self.writer().table().load(rows); },
          py::arg("rows"), Release())
      .def(
          "set_word_counts",
          [](WritingNetwork& self, const at::Tensor& counts) { self.writer().set_word_counts(counts); },
          py::arg("counts"), Release());
}

}  // namespace sentencode
