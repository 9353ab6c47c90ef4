#include "sentencode/nn/generalized_pooling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <vector>

#include "nn/checks.h"
#include "nn/ops/attention_pooling/op.h"
#include "nn/ops/vector_pooling/op.h"
#include "nn/product.h"
#include "nn/rows.h"
#include "sentencode/error.h"
#include "sentencode/nn/sequences.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

bool is_half(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

/// Softmax over the words; zero at padding, unless a sentence has no words.
///   scores [B, T, n], padding [B, T, 1] bool or undefined
Tensor softmax_of_words(const Tensor& scores, const Tensor& padding) {
  // Not -inf: the softmax of a sentence without words would be NaN.
  return (padding.defined() ? scores.masked_fill(padding, std::numeric_limits<float>::lowest()) : scores)
      .softmax(1);
}

}  // namespace

HeadPenalty head_penalty(const Tensor& heads, double lambda, bool batch_distance) {
  TORCH_CHECK_VALUE(
      (heads.dim() == 2 || heads.dim() == 3) && heads.is_floating_point(),
      "head_penalty: heads must be floating point [heads, features] or [batch, heads, features], "
      "got ",
      heads.dtype(), " ", heads.sizes());
  // In half precision, distances of similar heads would be rounded to 0.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor exact = is_half(heads.scalar_type()) ? heads.to(at::kFloat) : heads;
  const Tensor x = exact.dim() == 2 ? exact.unsqueeze(0) : exact;  // [B, I, n]
  const Tensor products = at::matmul(x, x.transpose(1, 2));        // [B, I, I]
  const Tensor squares = products.diagonal(0, 1, 2);               // [B, I]
  const std::int64_t count = x.size(1);
  const Tensor pairs = at::triu_indices(count, count, 1, x.options().dtype(at::kLong));  // [2, P]
  const Tensor first = pairs[0], second = pairs[1];
  Tensor distance = squares.index_select(1, first) + squares.index_select(1, second) -
                    2 * products.flatten(1).index_select(1, first * count + second);  // [B, P]
  if (distance.numel() == 0) return {distance.sum(), distance.sum().detach()};
  if (batch_distance) distance = distance.mean(0, /*keepdim=*/true);
  const Tensor hinge = at::relu(lambda - distance);
  return {hinge.sum(1).mean(), (hinge > 0).to(hinge.scalar_type()).mean().detach()};
}

AttentionPooling::AttentionPooling(const AttentionPoolingOptions& options)
    : Module("AttentionPooling"), options_(options) {
  ST_CHECK(options.features >= 1 && options.hidden >= 1 && options.heads >= 1, InvalidInput,
           "AttentionPooling: features, hidden and heads must be at least 1, got ", options.features, ", ",
           options.hidden, " and ", options.heads);
  ST_CHECK(options.activation == Activation::relu || options.activation == Activation::tanh, InvalidInput,
           "AttentionPooling: activation must be 'relu' or 'tanh', got '", name_of(options.activation), "'");
  const bool vector = options.scores == Scores::vector;
  const std::int64_t groups = vector ? options.heads : 1, scores = vector ? options.features : options.heads;
  hidden_ = register_module("hidden", xavier_linear(options.features, groups * options.hidden, options.bias));
  score_ = register_module("score", xavier_linear(options.hidden, groups * scores, /*bias=*/false));
  for (const auto& layer : {hidden_, score_}) {
    for (const Tensor& group : layer->weight.chunk(groups)) torch::nn::init::xavier_uniform_(group);
  }
}

Tensor AttentionPooling::forward(const Tensor& h, const Tensor& lengths) const {
  if (!h.is_cpu()) return composed(h, lengths, /*kernel=*/true);
  check(h, lengths);
  const at::ScalarType type = is_half(h.scalar_type()) ? at::kFloat : h.scalar_type();
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const std::int64_t batch = h.size(0), time = h.size(1);
  Tensor words = h.to(type).reshape({batch * time, h.size(2)});  // [R, d], without padding
  Tensor offsets = at::arange(batch + 1, at::kLong) * time;      // [B + 1]
  if (lengths.defined()) {
    const Tensor here = lengths.cpu().clamp(0, time);
    offsets = at::constant_pad_nd(here.cumsum(0), {1, 0});
    const Tensor mask = at::arange(time, at::kLong).unsqueeze(0) < here.unsqueeze(1);  // [B, T]
    const Tensor rows = mask.flatten().nonzero().squeeze(1);                           // [R]
    if (rows.size(0) < words.size(0)) words = gather_rows(words, rows);
  }
  const Tensor& bias = hidden_->bias;
  return attention_pooling(words, offsets, hidden_->weight.to(type), bias.defined() ? bias.to(type) : bias,
                           score_->weight.to(type), options_)
      .to(hidden_->weight.scalar_type());
}

Tensor AttentionPooling::composed(const Tensor& h, const Tensor& lengths, bool kernel) const {
  check(h, lengths);
  const at::ScalarType type = is_half(h.scalar_type()) ? at::kFloat : h.scalar_type();
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const std::int64_t batch = h.size(0), time = h.size(1);
  Tensor x = h.to(type), device_lengths, padding;
  if (lengths.defined()) {
    device_lengths = lengths.to(h.device());
    const Tensor positions = at::arange(time, device_lengths.options()).unsqueeze(0);  // [1, T]
    padding = positions.ge(device_lengths.unsqueeze(1)).unsqueeze(2);                  // [B, T, 1]
    x = x.masked_fill(padding, 0);  // NaN times zero is NaN
  }
  const Tensor& bias = hidden_->bias;
  const Tensor z = activate(at::linear(x, hidden_->weight.to(type), bias.defined() ? bias.to(type) : bias),
                            options_.activation);  // [B, T, I d_a], scalar [B, T, d_a]
  const Tensor w2 = score_->weight.to(type);
  Tensor v;  // [B, I, d]
  if (options_.scores == Scores::scalar) {
    v = at::bmm(softmax_of_words(at::linear(z, w2), padding).transpose(1, 2), x);
  } else {
    const Tensor scores = vector_scores(z, w2);  // [I, B, T, d]
    if (kernel && has_vector_pooling(x)) {
      if (!device_lengths.defined()) device_lengths = at::full({batch}, time, x.options().dtype(at::kLong));
      v = vector_pooling(scores, x, device_lengths);
    } else {
      std::vector<Tensor> pooled;  // [B, d] each; one head after the other takes less memory
      for (const Tensor& s : scores.unbind(0)) pooled.push_back((softmax_of_words(s, padding) * x).sum(1));
      v = at::stack(pooled, 1);
    }
  }
  return v.flatten(1).to(hidden_->weight.scalar_type());
}

/// z [B, T, I d_a], W2 [I d, d_a] -> [I, B, T, d]
Tensor AttentionPooling::vector_scores(const Tensor& z, const Tensor& w2) const {
  const std::int64_t heads = options_.heads, hidden = options_.hidden, features = options_.features;
  const Tensor z_heads = z.view({-1, heads, hidden}).transpose(0, 1);  // [I, B T, d_a]
  return at::bmm(z_heads, w2.view({heads, features, hidden}).transpose(1, 2))
      .view({heads, z.size(0), z.size(1), features});
}

Tensor AttentionPooling::weights(const Tensor& h, const Tensor& lengths) const {
  check(h, lengths);
  const Sequences s =
      Sequences::of(h, lengths.defined() ? lengths : at::full({h.size(0)}, h.size(1), at::kLong));
  const Tensor z = activate(linear(*hidden_, s.x), options_.activation);  // [B, T, I d_a], scalar [B, T, d_a]
  Tensor scores;
  if (options_.scores == Scores::scalar) {
    scores = linear(*score_, z).transpose(1, 2).unsqueeze(3);  // [B, I, T, 1]
  } else {
    scores = vector_scores(z, score_->weight).transpose(0, 1);  // [B, I, T, d]
  }
  const Tensor padding = s.mask.logical_not().view({h.size(0), 1, h.size(1), 1});
  const at::ScalarType type = is_half(scores.scalar_type()) ? at::kFloat : scores.scalar_type();
  // Not -inf: the softmax of a sentence without words would be NaN.
  const Tensor masked = scores.to(type).masked_fill(padding, std::numeric_limits<float>::lowest());
  const Tensor a = masked.softmax(2).masked_fill(padding, 0);  // [B, I, T, d or 1]
  return options_.scores == Scores::scalar ? a.squeeze(3) : a;
}

HeadPenalty AttentionPooling::penalty(Penalty penalty, const Tensor& h, const Tensor& lengths,
                                      const Tensor& pooled, double lambda, bool batch_distance) const {
  const std::int64_t heads = options_.heads;
  switch (penalty) {
    case Penalty::none:
      break;
    case Penalty::parameters: {
      const Tensor& weight = options_.scores == Scores::vector ? hidden_->weight : score_->weight;
      return head_penalty(weight.view({heads, -1}), lambda);
    }
    case Penalty::attention:
      return head_penalty(weights(h, lengths).flatten(2), lambda, batch_distance);
    case Penalty::embeddings:
      check_tensor("AttentionPooling: pooled", pooled, Type::floating, {"batch", dim()});
      return head_penalty(pooled.view({pooled.size(0), heads, options_.features}), lambda, batch_distance);
  }
  const Tensor zero = at::zeros({}, hidden_->weight.options());
  return {zero, zero};
}

void AttentionPooling::check(const Tensor& h, const Tensor& lengths) const {
  check_tensor("attention pooling: h", h, Type::floating, {"batch", "time", options_.features});
  TORCH_CHECK_VALUE(h.scalar_type() == hidden_->weight.scalar_type() ||
                        at::autocast::is_autocast_enabled(h.device().type()),
                    "attention pooling: h must be ", hidden_->weight.dtype(), ", as the weights, got ",
                    h.dtype());
  if (lengths.defined()) check_lengths("attention pooling: lengths", lengths, h.size(0), h.size(1));
}

void AttentionPooling::pretty_print(std::ostream& out) const {
  out << "AttentionPooling(features=" << options_.features << ", hidden=" << options_.hidden
      << ", heads=" << options_.heads << ", scores=" << name_of(options_.scores)
      << ", activation=" << name_of(options_.activation) << ")";
}

}  // namespace sentencode::nn
