#include "sentencode/models/convolutional.h"

#include <torch/csrc/utils/pybind.h>

#include "models/arguments.h"
#include "py.h"

namespace sentencode {

void bind_convolutional(py::module_& m) {
  bind_autoencoder_class<models::ConvolutionalNetwork, models::ConvolutionalOptions>(
      m, "ConvolutionalNetwork", "See sentencode.models.ConvolutionalNetwork.");
}

}  // namespace sentencode
