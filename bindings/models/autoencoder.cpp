#include "sentencode/models/autoencoder.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>

#include "nn/maybe_tensor.h"
#include "py.h"
#include "sentencode/nn/embedding.h"

namespace sentencode {

namespace {

training::TensorBatch batch_of(const at::Tensor& ids, const at::Tensor& lengths) {
  TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == at::kLong, "ids must be int64 [batch, time], got ",
                    ids.dtype(), " ", ids.sizes());
  const auto bare = models::Sequences::of(
      at::empty({ids.size(0), ids.size(1), 0}, ids.options().dtype(at::kFloat)), lengths);
  training::TensorBatch batch;
  batch.size = ids.size(0);
  batch.fields.push_back({ids, lengths, bare.mask, lengths.sum().item<std::int64_t>(), bare.full});
  return batch;
}

}  // namespace

void bind_autoencoder(py::module_& m) {
  using models::Autoencoder;
  using models::Sequences;
  py::class_<Autoencoder, models::SentenceNetwork, nn::Decoder, std::shared_ptr<Autoencoder>>(
      m, "Autoencoder", "See sentencode.models.Autoencoder.")
      .def(
          "decode",
          [](Autoencoder& self, const at::Tensor& z, const at::Tensor& y, const at::Tensor& lengths) {
            return self.decode(z, Sequences::of(y, lengths));
          },
          py::arg("z"), py::arg("y"), py::arg("lengths"), Release())
      .def(
          "loss",
          [](Autoencoder& self, const at::Tensor& ids, const at::Tensor& lengths) {
            const training::Loss found = self.loss(batch_of(ids, lengths));
            return std::make_tuple(found.sum, found.count, if_defined(found.right));
          },
          py::arg("ids"), py::arg("lengths"), Release())
      .def(
          "reconstruct",
          [](Autoencoder& self, const at::Tensor& z, std::int64_t max_length, std::int64_t beam,
             std::int64_t best, double length_penalty) {
            const nn::Decoded found =
                self.reconstruct(z, {.max_length = max_length}, {beam, best, length_penalty});
            return std::make_tuple(found.ids, found.lengths, found.scores, if_defined(found.alignments));
          },
          py::arg("z"), py::arg("max_length"), py::arg("beam"), py::arg("best"), py::arg("length_penalty"),
          Release())
      .def(
          "load_words", [](Autoencoder& self, const at::Tensor& rows) { self.writer().table().load(rows); },
          py::arg("rows"), Release())
      .def(
          "set_word_counts",
          [](Autoencoder& self, const at::Tensor& counts) { self.writer().set_word_counts(counts); },
          py::arg("counts"), Release());
}

}  // namespace sentencode
