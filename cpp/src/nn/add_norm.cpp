#include "sentencode/nn/add_norm.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <ostream>

#include "nn/checks.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {

using at::Tensor;

AddNorm::AddNorm(std::int64_t features, double epsilon, double dropout)
    : Module("AddNorm"), epsilon_(epsilon), dropout_(dropout) {
  ST_CHECK(features >= 1 && epsilon > 0, InvalidInput,
           "AddNorm: features must be at least 1 and epsilon positive, got ", features, " and ", epsilon);
  check_dropout("AddNorm", dropout);
  weight_ = register_parameter("weight", at::ones({features}, at::kFloat));
  bias_ = register_parameter("bias", at::zeros({features}, at::kFloat));
}

Tensor AddNorm::forward(const Tensor& x, const Tensor& residual) const {
  check_tensor("AddNorm: given", x, Type::any, {"...", weight_.size(0)});
  if (residual.defined()) check_tensor("AddNorm: residual", residual, Type::any, x.sizes());
  const Tensor dropped = at::dropout(x, dropout_, trains(*this));
  return at::layer_norm(residual.defined() ? dropped + residual : dropped, weight_.sizes(), weight_, bias_,
                        epsilon_);
}

void AddNorm::pretty_print(std::ostream& out) const {
  out << "AddNorm(features=" << weight_.size(0) << ", epsilon=" << epsilon_ << ", dropout=" << dropout_
      << ")";
}

}  // namespace sentencode::nn
