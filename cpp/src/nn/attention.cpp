#include "sentencode/nn/attention.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <ostream>

#include "nn/checks.h"
#include "nn/product.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

/// The keys that each query may attend to.
struct Visible {
  Tensor keys;          // [B, 1, 1 or T, S]; queries without keys see all, so that their softmax is not NaN
  Tensor without_keys;  // [B, 1, 1 or T, 1], queries without keys: their context is set to zero
};

Visible visible(const Tensor& key_mask, bool causal, std::int64_t batch, std::int64_t queries,
                std::int64_t keys, const at::TensorOptions& options) {
  TORCH_CHECK_VALUE(!causal || queries == keys, "attention: causal requires as many keys as queries, got ",
                    keys, " and ", queries);
  Tensor allowed;
  if (causal) allowed = at::ones({1, 1, queries, keys}, options.dtype(at::kBool)).tril_();  // [1, 1, T, S]
  if (!key_mask.defined()) return {allowed, {}};
  check_tensor("attention: key_mask", key_mask, Type::boolean, {batch, keys});
  const Tensor unmasked = key_mask.unsqueeze(1).unsqueeze(1);                  // [B, 1, 1, S]
  allowed = causal ? allowed.logical_and(unmasked) : unmasked;                 // [B, 1, 1 or T, S]
  const Tensor without_keys = allowed.any(3, /*keepdim=*/true).logical_not();  // [B, 1, 1 or T, 1]
  return {allowed.logical_or(without_keys), without_keys};
}

/// While an object exists, torch does not use cuDNN's attention. cuDNN compiles a program for each new
/// length, which takes half a second: a minute for the first hundred batches on an H100.
class WithoutCudnnAttention {
 public:
  WithoutCudnnAttention() {
    const std::lock_guard lock(mutex);
    if (users++ > 0) return;
    enabled = at::globalContext().userEnabledCuDNNSDP();
    at::globalContext().setSDPUseCuDNN(false);
  }
  ~WithoutCudnnAttention() {
    const std::lock_guard lock(mutex);
    if (--users == 0) at::globalContext().setSDPUseCuDNN(enabled);
  }
  WithoutCudnnAttention(const WithoutCudnnAttention&) = delete;
  WithoutCudnnAttention& operator=(const WithoutCudnnAttention&) = delete;

 private:
  // static, since torch's switch is global
  static inline std::mutex mutex;
  static inline int users = 0;
  static inline bool enabled = false;
};

Tensor dot_product_attention(const Tensor& q, const KeysValues& memory, const std::optional<Tensor>& mask,
                             double dropout, bool causal, double scale) {
  std::optional<WithoutCudnnAttention> guard;
  if (q.is_cuda()) guard.emplace();
  return at::scaled_dot_product_attention(q, memory.keys, memory.values, mask, dropout, causal, scale);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const AttentionOptions& options)
    : Module("MultiHeadAttention"), options_(options) {
  ST_CHECK(options.heads >= 1 && options.features >= 1 && options.features % options.heads == 0, InvalidInput,
           "MultiHeadAttention: features must be a multiple of heads, got ", options.features, " and ",
           options.heads);
  ST_CHECK(options.scale >= 0, InvalidInput,
           "MultiHeadAttention: scale must be positive, or 0 for 1 / sqrt(features / heads), got ",
           options.scale);
  check_dropout("MultiHeadAttention", options.dropout);
  if (options_.scale == 0) {
    options_.scale = 1 / std::sqrt(static_cast<double>(options.features / options.heads));
  }
  query_ = register_module("query", xavier_linear(options.query_features, options.features, options.bias));
  key_ = register_module("key", xavier_linear(options.memory_features, options.features, options.bias));
  value_ = register_module("value", xavier_linear(options.memory_features, options.features, options.bias));
  if (options.output_projection) {
    output_ = register_module("output", xavier_linear(options.features, options.features, options.bias));
  }
}

Tensor MultiHeadAttention::split(const Tensor& projected) const {
  return projected.unflatten(2, {options_.heads, -1}).transpose(1, 2);  // [B, heads, T, H / heads]
}

Tensor MultiHeadAttention::join(const Tensor& heads) const {
  const Tensor concatenated = heads.transpose(1, 2).flatten(2);  // [B, T, H]
  return output_ ? linear(*output_, concatenated) : concatenated;
}

KeysValues MultiHeadAttention::project(const Tensor& key, const Tensor& value, const Tensor& key_mask) const {
  check_tensor("attention: key", key, Type::any, {"batch", "time", options_.memory_features});
  check_tensor("attention: value", value, Type::any, key.sizes());
  Tensor k = key, v = value;
  if (key_mask.defined()) {
    check_tensor("attention: key_mask", key_mask, Type::boolean, key.sizes().slice(0, 2));
    const Tensor masked = key_mask.logical_not().unsqueeze(2);  // [B, S, 1]
    k = key.masked_fill(masked, 0);                             // NaN times zero is NaN
    v = value.is_same(key) ? k : value.masked_fill(masked, 0);
  }
  return {split(activate(linear(*key_, k), options_.activation)),     // [B, heads, S, H / heads]
          split(activate(linear(*value_, v), options_.activation))};  // [B, heads, S, H / heads]
}

Tensor MultiHeadAttention::project_query(const Tensor& query, const KeysValues& memory) const {
  check_tensor("attention: query", query, Type::any, {memory.keys.size(0), "time", options_.query_features});
  return split(activate(linear(*query_, query), options_.activation));  // [B, heads, T, H / heads]
}

Tensor MultiHeadAttention::attend(const Tensor& query, const KeysValues& memory, const Tensor& key_mask,
                                  bool causal) const {
  const Tensor q = project_query(query, memory);  // [B, heads, T, H / heads]
  const auto [allowed, without_keys] =
      visible(key_mask, causal, q.size(0), q.size(2), memory.keys.size(2), query.options());
  // Without a key mask, torch's kernels compute the causal mask.
  const auto mask = key_mask.defined() ? std::optional<Tensor>(allowed) : std::nullopt;
  Tensor heads = dot_product_attention(q, memory, mask, trains(*this) ? options_.dropout : 0, causal && !mask,
                                       options_.scale);  // [B, heads, T, H / heads]
  if (without_keys.defined()) heads = heads.masked_fill(without_keys, 0);
  return join(heads);
}

Tensor MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& key_mask, bool causal) const {
  return attend(query, project(key, value, key_mask), key_mask, causal);
}

std::pair<Tensor, Tensor> MultiHeadAttention::with_weights(const Tensor& query, const Tensor& key,
                                                           const Tensor& value, const Tensor& key_mask,
                                                           bool causal) const {
  const KeysValues memory = project(key, value, key_mask);
  const Tensor q = project_query(query, memory);  // [B, heads, T, H / heads]
  const auto [allowed, without_keys] =
      visible(key_mask, causal, q.size(0), q.size(2), memory.keys.size(2), query.options());
  Tensor scores = at::matmul(q, memory.keys.transpose(2, 3)) * options_.scale;  // [B, heads, T, S]
  if (allowed.defined()) {
    scores = scores.masked_fill(allowed.logical_not(), -std::numeric_limits<double>::infinity());
  }
  Tensor weights = scores.softmax(3);
  if (without_keys.defined()) weights = weights.masked_fill(without_keys, 0);
  const Tensor dropped = at::dropout(weights, options_.dropout, trains(*this));
  return {join(at::matmul(dropped, memory.values)), weights};
}

void MultiHeadAttention::pretty_print(std::ostream& out) const {
  out << "MultiHeadAttention(features=" << options_.features << ", heads=" << options_.heads << ")";
}

FeedForward::FeedForward(std::int64_t features, std::int64_t hidden, Activation activation, double dropout)
    : Module("FeedForward"), activation_(activation), dropout_(dropout) {
  check_dropout("FeedForward", dropout);
  inner_ = register_module("inner", xavier_linear(features, hidden));
  outer_ = register_module("outer", xavier_linear(hidden, features));
}

Tensor FeedForward::forward(const Tensor& x) const {
  const Tensor hidden = activate(linear(*inner_, x), activation_);       // [..., hidden]
  return linear(*outer_, at::dropout(hidden, dropout_, trains(*this)));  // [..., D]
}

}  // namespace sentencode::nn
