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

#include "nn/generalized_pooling_op.h"
#include "nn/product.h"
#include "nn/vector_pooling_op.h"
#include "sentencode/error.h"
#include "sentencode/nn/sequences.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

bool is_half(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

/// Where in [B T] the words are, one sentence after the other, [R], undefined if everywhere; and where in
/// these sentences begin and end, [B + 1]. On the CPU.
struct Words {
  Tensor places, offsets;
};

Words words_of(std::int64_t batch, std::int64_t time, const Tensor& lengths) {
  if (!lengths.defined()) return {{}, at::arange(batch + 1, at::kLong) * time};
  const Tensor given = lengths.cpu().contiguous(), offsets = at::empty({batch + 1}, at::kLong);
  const auto* const length = given.const_data_ptr<std::int64_t>();
  auto* const offset = offsets.mutable_data_ptr<std::int64_t>();
  offset[0] = 0;
  const auto seen = [&](std::int64_t b) { return std::clamp<std::int64_t>(length[b], 0, time); };
  for (std::int64_t b = 0; b < batch; ++b) offset[b + 1] = offset[b] + seen(b);
  if (offset[batch] == batch * time) return {{}, offsets};
  const Tensor places = at::empty({offset[batch]}, at::kLong);
  auto* place = places.mutable_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < seen(b); ++t) *place++ = b * time + t;
  }
  return {places, offsets};
}

/// Softmax over dimension 1 of the scores of words; zero at padding, unless a sentence has no words.
///   scores [B, T, n], padding [B, T, 1] bool or undefined
Tensor weights_of_words(const Tensor& scores, const Tensor& padding) {
  // Finite: the softmax of a sentence without words is defined then, and so is its gradient.
  return (padding.defined() ? scores.masked_fill(padding, std::numeric_limits<float>::lowest()) : scores)
      .softmax(1);
}

}  // namespace

Scores parse_scores(std::string_view name) {
  if (name == "vector") return Scores::vector;
  if (name == "scalar") return Scores::scalar;
  throw InvalidInput(concat("scores must be 'vector' or 'scalar', got '", name, "'"));
}

std::string_view scores_name(Scores scores) { return scores == Scores::vector ? "vector" : "scalar"; }

Penalty parse_penalty(std::string_view name) {
  for (const Penalty penalty :
       {Penalty::none, Penalty::parameters, Penalty::attention, Penalty::embeddings}) {
    if (name == penalty_name(penalty)) return penalty;
  }
  throw InvalidInput(
      concat("penalty must be 'none', 'parameters', 'attention' or 'embeddings', got '", name, "'"));
}

std::string_view penalty_name(Penalty penalty) {
  switch (penalty) {
    case Penalty::none:
      return "none";
    case Penalty::parameters:
      return "parameters";
    case Penalty::attention:
      return "attention";
    case Penalty::embeddings:
      return "embeddings";
  }
  throw InternalError("no such penalty");
}

HeadPenalty head_penalty(const Tensor& heads, double lambda, bool batch_distance) {
  TORCH_CHECK_VALUE((heads.dim() == 2 || heads.dim() == 3) && heads.is_floating_point(),
                    "head_penalty: heads must be floating point [heads, numbers] or [batch, heads, numbers], "
                    "got ",
                    heads.dtype(), " ", heads.sizes());
  // Distances are differences of nearly equal numbers, which half precision has not.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor wide = is_half(heads.scalar_type()) ? heads.to(at::kFloat) : heads;
  const Tensor x = wide.dim() == 2 ? wide.unsqueeze(0) : wide;  // [B, I, n]
  const Tensor products = at::matmul(x, x.transpose(1, 2));     // [B, I, I]
  const Tensor squares = products.diagonal(0, 1, 2);            // [B, I]
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
           "AttentionPooling: activation must be 'relu' or 'tanh', got '",
           activation_name(options.activation), "'");
  const bool own = options.scores == Scores::vector;  // each head has a network of its own
  const std::int64_t groups = own ? options.heads : 1, scores = own ? options.features : options.heads;
  hidden_ = register_module("hidden", xavier_linear(options.features, groups * options.hidden, options.bias));
  score_ = register_module("score", xavier_linear(options.hidden, groups * scores, /*bias=*/false));
  for (const auto& layer : {hidden_, score_}) {
    for (const Tensor& of_group : layer->weight.chunk(groups)) torch::nn::init::xavier_uniform_(of_group);
  }
}

Tensor AttentionPooling::forward(const Tensor& h, const Tensor& lengths) const {
  if (!h.is_cpu()) return composed(h, lengths, /*kernel=*/true);
  check(h, lengths);
  const at::ScalarType sums = is_half(h.scalar_type()) ? at::kFloat : h.scalar_type();
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Words words = words_of(h.size(0), h.size(1), lengths);
  const Tensor& bias = hidden_->bias;
  return attention_pooling(h.to(sums), words.places, words.offsets, hidden_->weight.to(sums),
                           bias.defined() ? bias.to(sums) : bias, score_->weight.to(sums), options_)
      .to(hidden_->weight.scalar_type());
}

Tensor AttentionPooling::composed(const Tensor& h, const Tensor& lengths, bool kernel) const {
  check(h, lengths);
  const at::ScalarType sums = is_half(h.scalar_type()) ? at::kFloat : h.scalar_type();
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const std::int64_t batch = h.size(0), time = h.size(1), heads = options_.heads;
  Tensor x = h.to(sums), counts, padding;
  if (lengths.defined()) {
    counts = lengths.to(h.device());
    padding =
        at::arange(time, counts.options()).unsqueeze(0).ge(counts.unsqueeze(1)).unsqueeze(2);  // [B, T, 1]
    x = x.masked_fill(padding, 0);  // padding may be NaN, which times a weight of zero is NaN
  }
  const Tensor& bias = hidden_->bias;
  const Tensor z = activate(at::linear(x, hidden_->weight.to(sums), bias.defined() ? bias.to(sums) : bias),
                            options_.activation);  // [B, T, I d_a], scalar [B, T, d_a]
  const Tensor w2 = score_->weight.to(sums);
  Tensor v;  // [B, I, d]
  if (options_.scores == Scores::scalar) {
    v = at::bmm(weights_of_words(at::linear(z, w2), padding).transpose(1, 2), x);
  } else {
    const Tensor own = z.view({batch * time, heads, options_.hidden}).transpose(0, 1);  // [I, B T, d_a]
    const Tensor scores = at::bmm(own, w2.view({heads, options_.features, options_.hidden}).transpose(1, 2))
                              .view({heads, batch, time, options_.features});  // [I, B, T, d]
    if (kernel && has_vector_pooling(x)) {
      v = vector_pooling(scores, x,
                         counts.defined() ? counts : at::full({batch}, time, x.options().dtype(at::kLong)));
    } else {
      std::vector<Tensor> of_heads;
      for (const Tensor& of_head : scores.unbind(0)) {
        of_heads.push_back((weights_of_words(of_head, padding) * x).sum(1));  // [B, d]
      }
      v = at::stack(of_heads, 1);
    }
  }
  return v.flatten(1).to(hidden_->weight.scalar_type());
}

Tensor AttentionPooling::weights(const Tensor& h, const Tensor& lengths) const {
  check(h, lengths);
  const Sequences s =
      Sequences::of(h, lengths.defined() ? lengths : at::full({h.size(0)}, h.size(1), at::kLong));
  const std::int64_t batch = h.size(0), time = h.size(1), heads = options_.heads;
  const Tensor z = activate(linear(*hidden_, s.x), options_.activation);  // [B, T, I d_a], scalar [B, T, d_a]
  Tensor scores;
  if (options_.scores == Scores::scalar) {
    scores = linear(*score_, z).transpose(1, 2).unsqueeze(3);  // [B, I, T, 1]
  } else {
    const Tensor own = z.view({batch * time, heads, options_.hidden}).transpose(0, 1);   // [I, B T, d_a]
    const Tensor w2 = score_->weight.view({heads, options_.features, options_.hidden});  // [I, d, d_a]
    scores = at::bmm(own, w2.transpose(1, 2)).view({heads, batch, time, options_.features}).transpose(0, 1);
  }
  const Tensor hidden = s.mask.logical_not().view({batch, 1, time, 1});
  // A sentence without words has equal scores: the softmax is defined then, and its weights are hidden.
  const at::ScalarType wide = is_half(scores.scalar_type()) ? at::kFloat : scores.scalar_type();
  const Tensor masked = scores.to(wide).masked_fill(hidden, std::numeric_limits<float>::lowest());
  const Tensor a = masked.softmax(2).masked_fill(hidden, 0);  // [B, I, T, d or 1]
  return options_.scores == Scores::scalar ? a.squeeze(3) : a;
}

HeadPenalty AttentionPooling::penalty(Penalty penalty, const Tensor& h, const Tensor& lengths,
                                      const Tensor& pooled, double lambda, bool batch_distance) const {
  const std::int64_t heads = options_.heads;
  switch (penalty) {
    case Penalty::none:
      break;
    case Penalty::parameters: {
      const Tensor& own = options_.scores == Scores::vector ? hidden_->weight : score_->weight;
      return head_penalty(own.view({heads, -1}), lambda);
    }
    case Penalty::attention:
      return head_penalty(weights(h, lengths).flatten(2), lambda, batch_distance);
    case Penalty::embeddings:
      TORCH_CHECK_VALUE(pooled.defined() && pooled.dim() == 2 && pooled.size(1) == dim(),
                        "AttentionPooling: pooled must be [batch, ", dim(), "], got ",
                        pooled.defined() ? pooled.sizes() : at::IntArrayRef());
      return head_penalty(pooled.view({pooled.size(0), heads, options_.features}), lambda, batch_distance);
  }
  const Tensor zero = at::zeros({}, hidden_->weight.options());
  return {zero, zero};
}

void AttentionPooling::check(const Tensor& h, const Tensor& lengths) const {
  TORCH_CHECK_VALUE(h.dim() == 3 && h.is_floating_point() && h.size(2) == options_.features,
                    "attention pooling: h must be floating point [batch, time, ", options_.features,
                    "], got ", h.dtype(), " ", h.sizes());
  TORCH_CHECK_VALUE(h.scalar_type() == hidden_->weight.scalar_type() ||
                        at::autocast::is_autocast_enabled(h.device().type()),
                    "attention pooling: h must be ", hidden_->weight.dtype(), ", as the weights, got ",
                    h.dtype());
  if (!lengths.defined()) return;
  TORCH_CHECK_VALUE(lengths.scalar_type() == at::kLong && lengths.dim() == 1 && lengths.size(0) == h.size(0),
                    "attention pooling: lengths must be int64 [", h.size(0), "], got ", lengths.dtype(), " ",
                    lengths.sizes());
  if (!lengths.is_cpu()) return;  // a GPU would have to be waited for
  const Tensor given = lengths.contiguous();
  const auto* const length = given.const_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < given.numel(); ++b) {
    TORCH_CHECK_VALUE(length[b] >= 0 && length[b] <= h.size(1),
                      "attention pooling: lengths must be from 0 to ", h.size(1), ", got ", length[b]);
  }
}

void AttentionPooling::pretty_print(std::ostream& out) const {
  out << "AttentionPooling(features=" << options_.features << ", hidden=" << options_.hidden
      << ", heads=" << options_.heads << ", scores=" << scores_name(options_.scores)
      << ", activation=" << activation_name(options_.activation) << ")";
}

}  // namespace sentencode::nn
