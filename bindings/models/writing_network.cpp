#include "sentencode/models/writing_network.h"

#include <ATen/Functions.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>
#include <utility>
#include <vector>

#include "nn/maybe_tensor.h"
#include "py.h"
#include "sentencode/nn/embedding.h"

namespace sentencode {

namespace {

/// ids [B, T] and lengths [B] of each field.
training::TensorBatch batch_of(const std::vector<std::pair<at::Tensor, at::Tensor>>& fields) {
  training::TensorBatch batch;
  for (const auto& [ids, lengths] : fields) {
    TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == at::kLong,
                      "ids must be int64 [batch, time], got ", ids.dtype(), " ", ids.sizes());
    const auto bare = models::Sequences::of(
        at::empty({ids.size(0), ids.size(1), 0}, ids.options().dtype(at::kFloat)), lengths);
    TORCH_CHECK_VALUE(batch.fields.empty() || ids.size(0) == batch.size, "ids of all fields must be of ",
                      batch.size, " sentences, got ", ids.size(0));
    batch.size = ids.size(0);
    batch.fields.push_back({ids, lengths, bare.mask, lengths.sum().item<std::int64_t>(), bare.full});
  }
  return batch;
}

}  // namespace

void bind_writing_network(py::module_& m) {
  using models::WritingNetwork;
  py::class_<WritingNetwork, models::SentenceNetwork, std::shared_ptr<WritingNetwork>>(
      m, "WritingNetwork", "See sentencode.models.WritingNetwork.")
      .def(
          "loss",
          [](WritingNetwork& self, const std::vector<std::pair<at::Tensor, at::Tensor>>& fields) {
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
