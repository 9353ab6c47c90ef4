#include "sentencode/nn/additive_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <limits>
#include <ostream>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

/// The mask must be of the places of `keys` [B, S, ...].
void check_key_mask(const Tensor& key_mask, const Tensor& keys) {
  TORCH_CHECK_VALUE(!key_mask.defined() ||
                        (key_mask.scalar_type() == at::kBool && key_mask.sizes() == keys.sizes().slice(0, 2)),
                    "additive attention: key_mask must be bool ", keys.sizes().slice(0, 2), ", got ",
                    key_mask.dtype(), " ", key_mask.sizes());
}

}  // namespace

AdditiveAttention::AdditiveAttention(const AdditiveAttentionOptions& options)
    : Module("AdditiveAttention"), options_(options) {
  ST_CHECK(options.query_features >= 1 && options.memory_features >= 1 && options.features >= 1, InvalidInput,
           "AdditiveAttention: query_features, memory_features and features must be at least 1, got ",
           options.query_features, ", ", options.memory_features, " and ", options.features);
  query_ = register_module("query", xavier_linear(options.query_features, options.features, /*bias=*/false));
  key_ = register_module("key", xavier_linear(options.memory_features, options.features, options.bias));
  score_ = register_module("score", xavier_linear(options.features, 1, /*bias=*/false));
}

KeysValues AdditiveAttention::project(const Tensor& memory, const Tensor& key_mask) const {
  TORCH_CHECK_VALUE(
      memory.dim() == 3 && memory.is_floating_point() && memory.size(2) == options_.memory_features,
      "additive attention: memory must be floating point [batch, places, ", options_.memory_features,
      "], got ", memory.dtype(), " ", memory.sizes());
  check_key_mask(key_mask, memory);
  // Even without a weight, what is no number would be none in the sum.
  const Tensor values =
      key_mask.defined() ? memory.masked_fill(key_mask.logical_not().unsqueeze(2), 0) : memory;
  return {key_->forward(values), values};  // [B, S, A], [B, S, Dm]
}

void AdditiveAttention::check_memory(const KeysValues& memory, const Tensor& key_mask,
                                     std::int64_t queries) const {
  const Tensor &keys = memory.keys, &values = memory.values;
  TORCH_CHECK_VALUE(keys.dim() == 3 && keys.size(2) == options_.features,
                    "additive attention: keys must be [batch, places, ", options_.features, "], got ",
                    keys.sizes());
  TORCH_CHECK_VALUE(values.dim() == 3 && values.sizes().slice(0, 2) == keys.sizes().slice(0, 2) &&
                        values.size(2) == options_.memory_features,
                    "additive attention: values must be [", keys.size(0), ", ", keys.size(1), ", ",
                    options_.memory_features, "], got ", values.sizes());
  check_key_mask(key_mask, keys);
  const std::int64_t batch = keys.size(0);
  TORCH_CHECK_VALUE(batch == 0 ? queries == 0 : queries % batch == 0,
                    "additive attention: query must have a multiple of the ", batch,
                    " sentences that there are keys of, got ", queries);
}

std::pair<Tensor, Tensor> AdditiveAttention::attend(const Tensor& query, const KeysValues& memory,
                                                    const Tensor& key_mask) const {
  const Tensor &keys = memory.keys, &values = memory.values;
  TORCH_CHECK_VALUE(query.dim() == 3 && query.is_floating_point() && query.size(2) == options_.query_features,
                    "additive attention: query must be floating point [batch, time, ",
                    options_.query_features, "], got ", query.dtype(), " ", query.sizes());
  check_memory(memory, key_mask, query.size(0));
  const std::int64_t batch = keys.size(0), places = keys.size(1);
  const std::int64_t rows = query.size(0), time = query.size(1);
  // The hypotheses of a sentence are more words of one: [B, Q, Dq]
  const std::int64_t queries = batch == 0 ? time : rows / batch * time;
  const Tensor q = query_->forward(query.reshape({batch, queries, query.size(2)}));  // [B, Q, A]
  const Tensor h = (q.unsqueeze(2) + keys.unsqueeze(1)).tanh_();                     // [B, Q, S, A]
  Tensor scores = score_->forward(h).squeeze(3);                                     // [B, Q, S]
  if (key_mask.defined()) {
    // Where nothing is shown, all is, so that the softmax is defined; the weights are zero then.
    const Tensor blind = key_mask.any(1, /*keepdim=*/true).logical_not();  // [B, 1]
    const Tensor hidden = key_mask.logical_or(blind).logical_not().unsqueeze(1);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  }
  Tensor weights = scores.softmax(2);  // [B, Q, S]
  if (key_mask.defined()) weights = weights.masked_fill(key_mask.logical_not().unsqueeze(1), 0);
  const Tensor context = at::matmul(weights, values);  // [B, Q, Dm]
  return {context.reshape({rows, time, values.size(2)}), weights.reshape({rows, time, places})};
}

std::pair<Tensor, Tensor> AdditiveAttention::forward(const Tensor& query, const Tensor& memory,
                                                     const Tensor& key_mask) const {
  TORCH_CHECK_VALUE(query.dim() == 3 && memory.dim() == 3 && query.size(0) == memory.size(0),
                    "additive attention: query and memory must be [batch, ...] of one batch, got ",
                    query.sizes(), " and ", memory.sizes());
  return attend(query, project(memory, key_mask), key_mask);
}

const Tensor& AdditiveAttention::query_weight() const { return query_->weight; }
const Tensor& AdditiveAttention::score_weight() const { return score_->weight; }

void AdditiveAttention::pretty_print(std::ostream& out) const {
  out << "AdditiveAttention(query_features=" << options_.query_features
      << ", memory_features=" << options_.memory_features << ", features=" << options_.features << ")";
}

}  // namespace sentencode::nn
