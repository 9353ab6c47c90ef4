#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/error.h"
#include "sentencode/models/sentence_network.h"

namespace sentencode::models {

/// Device and type of the network's weights.
inline at::TensorOptions tensor_options(const SentenceNetwork& network) {
  const training::NamedTensors parameters = network.parameter_tensors();
  ST_CHECK(!parameters.empty(), InvalidInput, "the network has no parameters");
  return parameters.front().second.options();
}

}  // namespace sentencode::models
