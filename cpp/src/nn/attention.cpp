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

#include "nn/product.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

/// Which keys a query may see, and which queries see any.
struct Sight {
  Tensor allowed;  // [B, 1, 1 or T, S]; where a query sees none, all, so that its softmax is defined
  Tensor blind;    // [B, 1, 1 or T, 1]: those queries, whose result is zero instead
};

Sight sight(const Tensor& key_mask, bool causal, std::int64_t batch, std::int64_t queries, std::int64_t keys,
            const at::TensorOptions& options) {
  TORCH_CHECK_VALUE(!causal || queries == keys, "attention: causal needs as many keys as queries, got ", keys,
                    " and ", queries);
  Tensor allowed;
  if (causal) allowed = at::ones({1, 1, queries, keys}, options.dtype(at::kBool)).tril_();  // [1, 1, T, S]
  if (!key_mask.defined()) return {allowed, {}};
  TORCH_CHECK_VALUE(key_mask.scalar_type() == at::kBool && key_mask.dim() == 2 && key_mask.size(0) == batch &&
                        key_mask.size(1) == keys,
                    "attention: key_mask must be bool [", batch, ", ", keys, "], got ", key_mask.dtype(), " ",
                    key_mask.sizes());
  const Tensor shown = key_mask.unsqueeze(1).unsqueeze(1);              // [B, 1, 1, S]
  allowed = causal ? allowed.logical_and(shown) : shown;                // [B, 1, 1 or T, S]
  const Tensor blind = allowed.any(3, /*keepdim=*/true).logical_not();  // [B, 1, 1 or T, 1]
  return {allowed.logical_or(blind), blind};
}

/// While one lives, torch leaves cuDNN's attention out. cuDNN compiles a program for each new length, which
/// takes it half a second: an H100 spent a minute on the lengths of the first hundred batches.
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
  // The switch is one for all threads.
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

void check_dropout(const char* layer, double dropout) {
  ST_CHECK(dropout >= 0 && dropout < 1, InvalidInput, layer,
           ": dropout must be at least 0 and less than 1, got ", dropout);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const AttentionOptions& options)
    : Module("MultiHeadAttention"), options_(options) {
  ST_CHECK(options.heads >= 1 && options.features >= 1 && options.features % options.heads == 0, InvalidInput,
           "MultiHeadAttention: features must be a multiple of heads, got ", options.features, " and ",
           options.heads);
  ST_CHECK(options.scale >= 0, InvalidInput,
           "MultiHeadAttention: scale must be positive, or 0 for 1 / sqrt "
           "of a head's width, got ",
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
  const Tensor side_by_side = heads.transpose(1, 2).flatten(2);  // [B, T, H]
  return output_ ? linear(*output_, side_by_side) : side_by_side;
}

KeysValues MultiHeadAttention::project(const Tensor& key, const Tensor& value, const Tensor& key_mask) const {
  TORCH_CHECK_VALUE(key.dim() == 3 && key.size(2) == options_.memory_features,
                    "attention: key must be "
                    "[batch, time, ",
                    options_.memory_features, "], got ", key.sizes());
  TORCH_CHECK_VALUE(value.sizes() == key.sizes(), "attention: value must be ", key.sizes(),
                    " as key is, got ", value.sizes());
  Tensor k = key, v = value;
  if (key_mask.defined()) {
    // Even without a weight, what is no number would be none in the sum.
    TORCH_CHECK_VALUE(key_mask.scalar_type() == at::kBool && key_mask.sizes() == key.sizes().slice(0, 2),
                      "attention: key_mask must be bool ", key.sizes().slice(0, 2), ", got ",
                      key_mask.dtype(), " ", key_mask.sizes());
    const Tensor hidden = key_mask.logical_not().unsqueeze(2);  // [B, S, 1]
    k = key.masked_fill(hidden, 0);
    v = value.is_same(key) ? k : value.masked_fill(hidden, 0);
  }
  return {split(activate(linear(*key_, k), options_.activation)),     // [B, heads, S, H / heads]
          split(activate(linear(*value_, v), options_.activation))};  // [B, heads, S, H / heads]
}

Tensor MultiHeadAttention::project_query(const Tensor& query, const KeysValues& memory) const {
  TORCH_CHECK_VALUE(
      query.dim() == 3 && query.size(2) == options_.query_features && query.size(0) == memory.keys.size(0),
      "attention: query must be [", memory.keys.size(0), ", time, ", options_.query_features, "], got ",
      query.sizes());
  return split(activate(linear(*query_, query), options_.activation));  // [B, heads, T, H / heads]
}

Tensor MultiHeadAttention::attend(const Tensor& query, const KeysValues& memory, const Tensor& key_mask,
                                  bool causal) const {
  const Tensor q = project_query(query, memory);  // [B, heads, T, H / heads]
  const auto [allowed, blind] =
      sight(key_mask, causal, q.size(0), q.size(2), memory.keys.size(2), query.options());
  // Without a key mask the kernels know what causal is.
  const auto mask = key_mask.defined() ? std::optional<Tensor>(allowed) : std::nullopt;
  Tensor heads = dot_product_attention(q, memory, mask, trains(*this) ? options_.dropout : 0, causal && !mask,
                                       options_.scale);  // [B, heads, T, H / heads]
  if (blind.defined()) heads = heads.masked_fill(blind, 0);
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
  const auto [allowed, blind] =
      sight(key_mask, causal, q.size(0), q.size(2), memory.keys.size(2), query.options());
  Tensor scores = at::matmul(q, memory.keys.transpose(2, 3)) * options_.scale;  // [B, heads, T, S]
  if (allowed.defined()) {
    scores = scores.masked_fill(allowed.logical_not(), -std::numeric_limits<double>::infinity());
  }
  Tensor weights = scores.softmax(3);
  if (blind.defined()) weights = weights.masked_fill(blind, 0);
  const Tensor kept = at::dropout(weights, options_.dropout, trains(*this));
  return {join(at::matmul(kept, memory.values)), weights};
}

void MultiHeadAttention::pretty_print(std::ostream& out) const {
  out << "MultiHeadAttention(features=" << options_.features << ", heads=" << options_.heads << ")";
}

FeedForward::FeedForward(std::int64_t features, std::int64_t hidden, const std::string& activation,
                         double dropout)
    : Module("FeedForward"), activation_(parse_activation(activation)), dropout_(dropout) {
  check_dropout("FeedForward", dropout);
  inner_ = register_module("inner", xavier_linear(features, hidden));
  outer_ = register_module("outer", xavier_linear(hidden, features));
}

Tensor FeedForward::forward(const Tensor& x) const {
  const Tensor hidden = activate(linear(*inner_, x), activation_);       // [..., hidden]
  return linear(*outer_, at::dropout(hidden, dropout_, trains(*this)));  // [..., D]
}

}  // namespace sentencode::nn
