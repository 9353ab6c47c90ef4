#include "sentencode/nn/softmax_loss.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/init.h>

#include <cmath>
#include <ostream>
#include <utility>

#include "nn/checks.h"
#include "nn/parameters.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {

using at::Tensor;

Tensor log_uniform_distribution(std::int64_t words) {
  TORCH_CHECK_VALUE(words >= 1, "log_uniform_distribution: words must be at least 1, got ", words);
  const Tensor rank = at::arange(1, words + 1, at::TensorOptions(at::kDouble));  // [V]
  return rank.reciprocal().log1p_() / std::log1p(static_cast<double>(words));
}

Tensor expected_counts(const Tensor& distribution, std::int64_t count) {
  check_tensor("expected_counts: distribution", distribution, Type::floating, {"words"});
  const std::int64_t words = distribution.size(0);
  TORCH_CHECK_VALUE(count >= 1 && count <= words, "expected_counts: count must be from 1 to ", words,
                    ", got ", count);
  const Tensor p = distribution.to(at::kDouble);  // [V]
  const auto least = p.min().item<double>();
  TORCH_CHECK_VALUE(least > 0 && std::isfinite(p.max().item<double>()),
                    "expected_counts: distribution must be positive and finite, so that each word is sampled "
                    "sometimes; its minimum is ",
                    least);
  if (count == words) return at::ones({words}, distribution.options().dtype(at::kFloat));
  const auto expected = [&](double tau) { return (p * -tau).expm1_().neg_(); };  // [V]
  const auto target = static_cast<double>(count);
  double low = 0, high = 1 / least;
  while (expected(high).sum().item<double>() < target) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (expected(middle).sum().item<double>() < target ? low : high) = middle;
  }
  return expected(high).to(at::kFloat);
}

Negatives draw_negatives(const Tensor& expected, std::optional<at::Generator> generator) {
  TORCH_CHECK_VALUE(expected.dim() == 1 && expected.scalar_type() == at::kFloat,
                    "draw_negatives: expected must be float [words], got ", expected.dtype(), " ",
                    expected.sizes());
  const Tensor chosen =
      at::rand(expected.sizes(), std::move(generator), expected.options()) < expected;  // [V]
  return {chosen.nonzero().squeeze(1), expected};
}

WordSoftmax::WordSoftmax(std::int64_t features, std::int64_t words, bool bias, bool tied,
                         double label_smoothing)
    : Module("WordSoftmax"), features_(features), words_(words), label_smoothing_(label_smoothing) {
  ST_CHECK(features >= 1 && words >= 1, InvalidInput,
           "WordSoftmax: features and words must be at least 1, got ", features, " and ", words);
  ST_CHECK(label_smoothing >= 0 && label_smoothing < 1, InvalidInput,
           "WordSoftmax: label_smoothing must be in [0, 1), got ", label_smoothing);
  if (!tied) {
    weight_ = register_parameter("weight", uninitialised({words, features}));
    torch::nn::init::xavier_uniform_(weight_);
  }
  if (bias) bias_ = register_parameter("bias", at::zeros({words}, at::kFloat));
}

const Tensor& WordSoftmax::matrix(const Tensor& table) const {
  TORCH_CHECK_VALUE(weight_.defined() != table.defined(),
                    "WordSoftmax: table is required if it is tied, and must be None otherwise");
  return weight_.defined() ? weight_ : table;
}

SoftmaxLoss WordSoftmax::forward(const Tensor& h, const Tensor& targets, const Tensor& row_weights,
                                 const Tensor& table, Reduction reduction) const {
  SoftmaxLossOptions options;
  options.reduction = reduction;
  options.label_smoothing = trains(*this) ? label_smoothing_ : 0;
  return softmax_loss(h, matrix(table), bias_, targets, row_weights, options);
}

Tensor WordSoftmax::sampled_loss(const Tensor& h, const Tensor& targets, const Negatives& negatives,
                                 const Tensor& row_weights, const Tensor& table, Reduction reduction) const {
  return sampled_softmax_loss(h, matrix(table), bias_, targets, negatives, row_weights,
                              {.reduction = reduction});
}

Tensor WordSoftmax::logits(const Tensor& h, const Tensor& table) const {
  return at::linear(h, matrix(table), bias_);
}

void WordSoftmax::pretty_print(std::ostream& out) const {
  out << "WordSoftmax(features=" << features_ << ", words=" << words_ << (weight_.defined() ? "" : ", tied")
      << ")";
}

}  // namespace sentencode::nn
