#include "sentencode/nn/linear.h"

#include <ATen/Functions.h>
#include <c10/core/DefaultDtype.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include "nn/parameters.h"
#include "sentencode/error.h"

namespace sentencode::nn {

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

/// While one exists, torch's layers are float32, whatever the default dtype is. Does not write the global
/// default if it is float32 already, because other threads may be reading it.
class Float32Default {
 public:
  Float32Default() {
    if (previous_ != kFloat32) c10::set_default_dtype(kFloat32);
  }
  ~Float32Default() {
    if (previous_ != kFloat32) c10::set_default_dtype(previous_);
  }
  Float32Default(const Float32Default&) = delete;
  Float32Default& operator=(const Float32Default&) = delete;

 private:
  static inline const caffe2::TypeMeta kFloat32 = caffe2::TypeMeta::Make<float>();
  const caffe2::TypeMeta previous_ = c10::get_default_dtype();
};

}  // namespace

std::shared_ptr<torch::nn::LinearImpl> xavier_linear(std::int64_t in_features, std::int64_t out_features,
                                                     bool bias) {
  ST_CHECK(in_features >= 1 && out_features >= 1, InvalidInput,
           "the features of a linear layer must be at least 1, got ", in_features, " and ", out_features);
  check_limit({in_features, out_features});
  const Float32Default guard;
  auto linear =
      std::make_shared<torch::nn::LinearImpl>(torch::nn::LinearOptions(in_features, out_features).bias(bias));
  torch::nn::init::xavier_uniform_(linear->weight);
  if (bias) torch::nn::init::zeros_(linear->bias);
  return linear;
}

}  // namespace sentencode::nn
