// Linear layers as the papers' code initialises them, and activations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "sentencode/enum_names.h"

namespace torch::nn {
class LinearImpl;
}

namespace sentencode::nn {

enum class Activation { none, relu, gelu, tanh };
constexpr EnumNames<4> enum_names(Activation) { return {"activation", {"none", "relu", "gelu", "tanh"}}; }

at::Tensor activate(const at::Tensor& x, Activation activation);

/// A linear layer with uniform weights after Glorot and Bengio (2010) and zero bias.
std::shared_ptr<torch::nn::LinearImpl> xavier_linear(std::int64_t in_features, std::int64_t out_features,
                                                     bool bias = true);

}  // namespace sentencode::nn
