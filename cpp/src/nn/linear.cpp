#include "sentencode/nn/linear.h"

#include <ATen/Functions.h>
#include <c10/core/DefaultDtype.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

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

/// While it lives, torch's layers are float32 whatever the process's default dtype is.
class Float32Default {
 public:
  Float32Default() {
    if (before_ != kFloat32) c10::set_default_dtype(kFloat32);
  }
  ~Float32Default() {
    if (before_ != kFloat32) c10::set_default_dtype(before_);
  }
  Float32Default(const Float32Default&) = delete;
  Float32Default& operator=(const Float32Default&) = delete;

 private:
  static inline const caffe2::TypeMeta kFloat32 = caffe2::TypeMeta::Make<float>();
  const caffe2::TypeMeta before_ = c10::get_default_dtype();
};

}  // namespace

std::shared_ptr<torch::nn::LinearImpl> xavier_linear(std::int64_t in_features, std::int64_t out_features,
                                                     bool bias) {
  ST_CHECK(in_features >= 1 && out_features >= 1, InvalidInput,
           "a linear map needs at least 1 feature on both sides, got ", in_features, " and ", out_features);
  check_limit({in_features, out_features});
  const Float32Default guard;
  auto linear =
      std::make_shared<torch::nn::LinearImpl>(torch::nn::LinearOptions(in_features, out_features).bias(bias));
  torch::nn::init::xavier_uniform_(linear->weight);
  if (bias) torch::nn::init::zeros_(linear->bias);
  return linear;
}

}  // namespace sentencode::nn
