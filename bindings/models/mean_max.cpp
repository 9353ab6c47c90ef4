#include "sentencode/models/mean_max.h"

#include <torch/csrc/utils/pybind.h>

#include "models/arguments.h"
#include "py.h"

namespace sentencode {

void bind_mean_max(py::module_& m) {
  using models::MeanMaxNetwork;
  bind_autoencoder_class<models::MeanMaxNetwork, models::MeanMaxOptions>(
      m, "MeanMaxNetwork", "See sentencode.models.MeanMaxNetwork.")
      .def(
          "attention",
          [](MeanMaxNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.attention(models::Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release());
}

}  // namespace sentencode
