// LibTorch's tensors in safetensors files.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "sentencode/io/safetensors.h"

namespace sentencode::nn {

/// What is written of a contiguous tensor on the CPU, which has to outlive it. InvalidInput names one of a
/// type that is not kept.
Tensor view_of(const std::string& name, const at::Tensor& tensor);

/// FormatError names source and tensor where LibTorch has no such type.
at::Tensor copy_of(const std::string& source, const std::string& name, const Tensor& tensor);

}  // namespace sentencode::nn
