#include "sentencode/nn/linear.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <mutex>

#include "nn/parameters.h"
#include "sentencode/error.h"

namespace sentencode::nn {

Activation parse_activation(std::string_view name) {
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::tanh}) {
    if (name == activation_name(activation)) return activation;
  }
  throw InvalidInput(concat("activation must be 'none', 'relu', 'gelu' or 'tanh', got '", name, "'"));
}

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::tanh:
      return "tanh";
  }
  throw InternalError("no such activation");
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return at::relu(x);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::tanh:
      return at::tanh(x);
  }
  throw InternalError("no such activation");
}

namespace {

/// torch's layer is of its default dtype, and draws numbers for it. Here it is float32 whatever that is: the
/// layer is made small, and its draws are taken back.
std::shared_ptr<torch::nn::LinearImpl> float_linear(std::int64_t in_features, std::int64_t out_features,
                                                    bool bias) {
  const auto options = torch::nn::LinearOptions(in_features, out_features).bias(bias);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const auto drawn = [&] {
    const std::lock_guard lock(generator.mutex());
    return generator.get_state();
  }();
  auto linear = std::make_shared<torch::nn::LinearImpl>(torch::nn::LinearOptions(1, 1).bias(bias));
  {
    const std::lock_guard lock(generator.mutex());
    generator.set_state(drawn);
  }
  linear->options = options;
  linear->weight.set_data(at::empty({out_features, in_features}, at::kFloat));
  if (bias) linear->bias.set_data(at::empty({out_features}, at::kFloat));
  linear->reset_parameters();
  return linear;
}

}  // namespace

std::shared_ptr<torch::nn::LinearImpl> xavier_linear(std::int64_t in_features, std::int64_t out_features,
                                                     bool bias) {
  ST_CHECK(in_features >= 1 && out_features >= 1, InvalidInput,
           "a linear map needs at least 1 feature on both sides, got ", in_features, " and ", out_features);
  check_limit({in_features, out_features});
  auto linear = float_linear(in_features, out_features, bias);
  torch::nn::init::xavier_uniform_(linear->weight);
  if (bias) torch::nn::init::zeros_(linear->bias);
  return linear;
}

}  // namespace sentencode::nn
