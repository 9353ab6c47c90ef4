#include "sentencode/models/recurrent_autoencoder.h"

#include <torch/csrc/utils/pybind.h>

#include "models/arguments.h"
#include "py.h"

namespace sentencode {

void bind_recurrent_autoencoder(py::module_& m) {
  using models::RecurrentNetwork;
  bind_autoencoder_class<models::RecurrentNetwork, models::RecurrentAutoencoderOptions>(
      m, "RecurrentNetwork", "See sentencode.models.RecurrentNetwork.")
      .def(
          "attention",
          [](RecurrentNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.attention(models::Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release());
}

}  // namespace sentencode
