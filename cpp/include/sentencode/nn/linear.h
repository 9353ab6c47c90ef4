// What layers are made of: linear maps that begin as the papers' code does, activations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace torch::nn {
class LinearImpl;
}

namespace sentencode::nn {

enum class Activation { none, relu, gelu, tanh };

Activation parse_activation(std::string_view name);  // InvalidInput names the choices
std::string_view activation_name(Activation activation);
at::Tensor activate(const at::Tensor& x, Activation activation);

/// Glorot and Bengio's uniform weights, zero bias.
std::shared_ptr<torch::nn::LinearImpl> xavier_linear(std::int64_t in_features, std::int64_t out_features,
                                                     bool bias = true);

}  // namespace sentencode::nn
