// Linear layers as the papers' code initialises them, and activations.
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

/// A linear layer with uniform weights after Glorot and Bengio (2010) and zero bias.
std::shared_ptr<torch::nn::LinearImpl> xavier_linear(std::int64_t in_features, std::int64_t out_features,
                                                     bool bias = true);

}  // namespace sentencode::nn
