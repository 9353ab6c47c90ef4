#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace sentencode::training {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

}  // namespace sentencode::training
