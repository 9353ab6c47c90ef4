#include "sentencode/nn/embedding.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/init.h>

#include <cmath>
#include <ostream>

#include "nn/checks.h"
#include "nn/parameters.h"
#include "sentencode/error.h"
#include "sentencode/nn/sparse_rows.h"

namespace sentencode::nn {

using at::Tensor;

WordEmbedding::WordEmbedding(std::int64_t words, std::int64_t features, bool trainable)
    : Module("WordEmbedding") {
  ST_CHECK(words >= 1 && features >= 1, InvalidInput,
           "WordEmbedding: words and features must be at least 1, got ", words, " and ", features);
  weight_ = register_parameter("weight", uninitialised({words, features}), trainable);
  torch::nn::init::uniform_(weight_, -0.1, 0.1);
}

Tensor WordEmbedding::forward(const Tensor& ids) const {
  TORCH_CHECK_VALUE(ids.scalar_type() == at::kLong, "WordEmbedding: ids must be int64, got ", ids.dtype());
  if (ids.is_cpu() && ids.numel() > 0) {  // reading them would wait for a GPU
    const auto [least, most] = ids.aminmax();
    const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
    TORCH_CHECK_VALUE(low >= 0 && high < weight_.size(0), "WordEmbedding: ids must be from 0 to ",
                      weight_.size(0) - 1, ", got ", low < 0 ? low : high);
  }
  return at::embedding(weight_, ids, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false,
                       SparseRows::here());  // [..., D]
}

void WordEmbedding::load(const Tensor& vectors) {
  check_tensor("WordEmbedding: vectors", vectors, Type::any, weight_.sizes());
  const at::NoGradGuard no_grad;
  weight_.copy_(vectors);
}

void WordEmbedding::expand(const Tensor& vectors) {
  check_tensor("WordEmbedding: vectors", vectors, Type::any, {"words", weight_.size(1)});
  const at::NoGradGuard no_grad;
  weight_.set_data(at::cat({weight_.detach(), vectors.detach().to(weight_.options())}));
  weight_.mutable_grad() = Tensor();  // has the old shape
}

void WordEmbedding::pretty_print(std::ostream& out) const {
  out << "WordEmbedding(words=" << weight_.size(0) << ", features=" << weight_.size(1)
      << (weight_.requires_grad() ? "" : ", frozen") << ")";
}

Tensor sinusoids(std::int64_t begin, std::int64_t length, std::int64_t features,
                 const at::TensorOptions& options) {
  // In double: angles are as large as positions.
  const auto exact = at::TensorOptions(options).dtype(at::kDouble);
  const Tensor t = at::arange(begin, begin + length, exact).unsqueeze(1);                        // [T, 1]
  const Tensor pair = at::arange(0, features, 2, exact);                                         // [D/2]
  const Tensor angle = t * (pair * (-std::log(10000.0) / static_cast<double>(features))).exp();  // [T, D/2]
  const Tensor both = at::stack({angle.sin(), angle.cos()}, 2).flatten(1);                       // [T, D]
  return both.narrow(1, 0, features).to(options);
}

Positions::Positions(std::int64_t features, PositionEncoding kind, std::int64_t length, Beyond beyond)
    : Module("Positions"), features_(features), beyond_(beyond) {
  ST_CHECK(features >= 1 && length >= 1, InvalidInput,
           "Positions: features and length must be at least 1, got ", features, " and ", length);
  if (kind == PositionEncoding::learnt) {
    weight_ = register_parameter("weight", uninitialised({length, features}));
    torch::nn::init::xavier_uniform_(weight_);
  }
}

Tensor Positions::forward(const Tensor& x, std::int64_t begin) const {
  check_tensor("Positions: x", x, Type::floating, {"...", "time", features_});
  TORCH_CHECK_VALUE(begin >= 0, "Positions: begin must not be negative, got ", begin);
  const std::int64_t end = begin + x.size(-2);
  const auto options = x.options().requires_grad(false);
  if (!weight_.defined()) return sinusoids(begin, x.size(-2), features_, options);
  const std::int64_t length = weight_.size(0);
  if (end <= length) return weight_.slice(0, begin, end).to(x.scalar_type());
  TORCH_CHECK_VALUE(beyond_ == Beyond::clamp, "Positions: a sentence has ", end, " words, but the table has ",
                    length, " rows; truncate sentences, or choose beyond='clamp' or kind='sinusoidal'");
  const Tensor rows = at::arange(begin, end, options.dtype(at::kLong)).clamp_max(length - 1);
  return weight_.index_select(0, rows).to(x.scalar_type());  // [T, D]
}

void Positions::pretty_print(std::ostream& out) const {
  out << "Positions(features=" << features_ << ", " << (weight_.defined() ? "learnt" : "sinusoidal") << ")";
}

}  // namespace sentencode::nn
