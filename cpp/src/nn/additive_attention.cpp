#include "sentencode/nn/additive_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <limits>
#include <ostream>

#include "nn/checks.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

void check_key_mask(const Tensor& key_mask, const Tensor& keys) {
  if (key_mask.defined()) {
    check_tensor("additive attention: key_mask", key_mask, Type::boolean, keys.sizes().slice(0, 2));
  }
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
  check_tensor("additive attention: memory", memory, Type::floating,
               {"batch", "positions", options_.memory_features});
  check_key_mask(key_mask, memory);
  // NaN times zero is NaN, so masked values must be zero.
  const Tensor values =
      key_mask.defined() ? memory.masked_fill(key_mask.logical_not().unsqueeze(2), 0) : memory;
  return {key_->forward(values), values};  // [B, S, A], [B, S, Dm]
}

void AdditiveAttention::check_memory(const KeysValues& memory, const Tensor& key_mask,
                                     std::int64_t queries) const {
  const Tensor &keys = memory.keys, &values = memory.values;
  check_tensor("additive attention: keys", keys, Type::any, {"batch", "positions", options_.features});
  check_tensor("additive attention: values", values, Type::any,
               {keys.size(0), keys.size(1), options_.memory_features});
  check_key_mask(key_mask, keys);
  const std::int64_t batch = keys.size(0);
  TORCH_CHECK_VALUE(batch == 0 ? queries == 0 : queries % batch == 0,
                    "additive attention: the number of hypotheses must be a multiple of the ", batch,
                    " sentences of keys, got ", queries);
}

std::pair<Tensor, Tensor> AdditiveAttention::attend(const Tensor& query, const KeysValues& memory,
                                                    const Tensor& key_mask) const {
  const Tensor &keys = memory.keys, &values = memory.values;
  check_tensor("additive attention: query", query, Type::floating,
               {"batch", "time", options_.query_features});
  check_memory(memory, key_mask, query.size(0));
  const std::int64_t batch = keys.size(0), positions = keys.size(1);
  const std::int64_t rows = query.size(0), time = query.size(1);
  // The hypotheses of a sentence become words of one query: [B, Q, Dq].
  const std::int64_t queries = batch == 0 ? time : rows / batch * time;
  const Tensor q = query_->forward(query.reshape({batch, queries, query.size(2)}));  // [B, Q, A]
  const Tensor h = (q.unsqueeze(2) + keys.unsqueeze(1)).tanh_();                     // [B, Q, S, A]
  Tensor scores = score_->forward(h).squeeze(3);                                     // [B, Q, S]
  if (key_mask.defined()) {
    // If all keys are masked, the softmax is over all of them, so that it is not NaN; weights become zero
    // below.
    const Tensor all_masked = key_mask.any(1, /*keepdim=*/true).logical_not();         // [B, 1]
    const Tensor masked = key_mask.logical_or(all_masked).logical_not().unsqueeze(1);  // [B, 1, S]
    scores = scores.masked_fill(masked, -std::numeric_limits<double>::infinity());
  }
  Tensor weights = scores.softmax(2);  // [B, Q, S]
  if (key_mask.defined()) weights = weights.masked_fill(key_mask.logical_not().unsqueeze(1), 0);
  const Tensor context = at::matmul(weights, values);  // [B, Q, Dm]
  return {context.reshape({rows, time, values.size(2)}), weights.reshape({rows, time, positions})};
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
