#include "sentencode/nn/add_norm.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <ostream>

#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {

using at::Tensor;

AddNorm::AddNorm(std::int64_t features, double epsilon, double dropout)
    : Module("AddNorm"), epsilon_(epsilon), dropout_(dropout) {
  ST_CHECK(features >= 1 && epsilon > 0, InvalidInput,
           "AddNorm: features must be at least 1 and epsilon positive, got ", features, " and ", epsilon);
  ST_CHECK(dropout >= 0 && dropout < 1, InvalidInput,
           "AddNorm: dropout must be at least 0 and less than 1, got ", dropout);
  weight_ = register_parameter("weight", at::ones({features}, at::kFloat));
  bias_ = register_parameter("bias", at::zeros({features}, at::kFloat));
}

Tensor AddNorm::forward(const Tensor& given, const Tensor& residual) const {
  TORCH_CHECK_VALUE(given.dim() >= 1 && given.size(-1) == weight_.size(0), "AddNorm: given must be [..., ",
                    weight_.size(0), "], got ", given.sizes());
  TORCH_CHECK_VALUE(!residual.defined() || residual.sizes() == given.sizes(), "AddNorm: residual must be ",
                    given.sizes(), " as given is, got ",
                    residual.defined() ? residual.sizes() : at::IntArrayRef());
  const Tensor kept = at::dropout(given, dropout_, trains(*this));
  return at::layer_norm(residual.defined() ? kept + residual : kept, weight_.sizes(), weight_, bias_,
                        epsilon_);
}

void AddNorm::pretty_print(std::ostream& out) const {
  out << "AddNorm(features=" << weight_.size(0) << ", epsilon=" << epsilon_ << ", dropout=" << dropout_
      << ")";
}

}  // namespace sentencode::nn
