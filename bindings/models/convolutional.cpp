#include "sentencode/models/convolutional.h"

#include <torch/csrc/utils/pybind.h>

#include "models/arguments.h"
#include "nn_bindings.h"

namespace sentencode {

void bind_convolutional(py::module_& m) {
  bind_autoencoder_class<models::ConvolutionalNetwork>(
      m, "ConvolutionalNetwork", "See sentencode.models.ConvolutionalNetwork.", [](Arguments& given) {
        return models::ConvolutionalOptions{.hidden = given.integer("hidden"),
                                            .filters = given.integer("filters"),
                                            .windows = given.take<std::vector<std::int64_t>>("windows"),
                                            .dropout = given.number("dropout")};
      });
}

}  // namespace sentencode
