// Creation of parameters within the limit of sentencode/nn/limit.h.
#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/nn/limit.h"  // IWYU pragma: export

namespace sentencode::nn {

/// Uninitialised float32 memory for a parameter. InvalidInput if it exceeds the limit.
at::Tensor uninitialised(at::IntArrayRef shape);

}  // namespace sentencode::nn
