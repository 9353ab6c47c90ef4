#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/models/sentence_network.h"

namespace sentencode::models {

/// Device and type of the network's weights; without weights, float32 on the CPU.
inline at::TensorOptions tensor_options(const SentenceNetwork& network) {
  const training::NamedTensors parameters = network.parameter_tensors();
  return parameters.empty() ? at::TensorOptions(at::kFloat) : parameters.front().second.options();
}

}  // namespace sentencode::models
