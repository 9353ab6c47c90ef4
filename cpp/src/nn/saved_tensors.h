// LibTorch's tensors in safetensors files.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "sentencode/io/safetensors.h"

namespace sentencode::nn {

/// A view of a contiguous tensor on the CPU, to write it. InvalidInput if files cannot contain its type.
Tensor view_of(const std::string& name, const at::Tensor& tensor);

/// A copy as a tensor. FormatError if LibTorch does not have its type.
at::Tensor copy_of(const std::string& source, const std::string& name, const Tensor& tensor);

}  // namespace sentencode::nn
