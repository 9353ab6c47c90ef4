#include "sentencode/models/denoising.h"

#include <torch/csrc/utils/pybind.h>

#include "py.h"

namespace sentencode {

void bind_denoising(py::module_& m) {
  using models::Sequences;
  m.def(
      "noisy",
      [](const at::Tensor& x, const at::Tensor& lengths, double drop_words, double swap_words) {
        const Sequences noisy = models::noisy(Sequences::of(x, lengths), drop_words, swap_words);
        return std::make_pair(noisy.x, noisy.lengths);
      },
      py::arg("x"), py::arg("lengths"), py::arg("drop_words"), py::arg("swap_words"), Release(),
      "See sentencode.models.noisy.");
}

}  // namespace sentencode
