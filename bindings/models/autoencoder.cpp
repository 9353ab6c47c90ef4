#include "sentencode/models/autoencoder.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>

#include "nn/maybe_tensor.h"
#include "py.h"

namespace sentencode {

void bind_autoencoder(py::module_& m) {
  using models::Autoencoder;
  using models::Sequences;
  py::class_<Autoencoder, models::WritingNetwork, nn::Decoder, std::shared_ptr<Autoencoder>>(
      m, "Autoencoder", "See sentencode.models.Autoencoder.")
      .def(
          "decode",
          [](Autoencoder& self, const at::Tensor& z, const at::Tensor& y, const at::Tensor& lengths) {
            return self.decode(z, Sequences::of(y, lengths));
          },
          py::arg("z"), py::arg("y"), py::arg("lengths"), Release())
      .def(
          "reconstruct",
          [](Autoencoder& self, const at::Tensor& z, std::int64_t max_length, std::int64_t beam,
             std::int64_t best, double length_penalty) {
            const nn::Decoded decoded =
                self.reconstruct(z, {.max_length = max_length}, {beam, best, length_penalty});
            return std::make_tuple(decoded.ids, decoded.lengths, decoded.scores,
                                   if_defined(decoded.alignments));
          },
          py::arg("z"), py::arg("max_length"), py::arg("beam"), py::arg("best"), py::arg("length_penalty"),
          Release());
}

}  // namespace sentencode
