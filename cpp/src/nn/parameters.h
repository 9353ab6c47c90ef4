// What layers ask before they make parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/nn/limit.h"  // IWYU pragma: export

namespace sentencode::nn {

/// Memory for parameters, within the limit.
at::Tensor uninitialised(at::IntArrayRef shape);

}  // namespace sentencode::nn
