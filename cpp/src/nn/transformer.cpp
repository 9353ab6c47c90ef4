#include "sentencode/nn/transformer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <string>

#include "nn/checks.h"
#include "sentencode/error.h"
#include "sentencode/nn/add_norm.h"

namespace sentencode::nn {

using at::Tensor;

void TransformerOptions::check() const {
  ST_CHECK(features >= 1 && layers >= 1 && heads >= 1 && inner >= 1 && memory_features >= 0, InvalidInput,
           "Transformer: features, layers, heads and inner must be at least 1, got ", features, ", ", layers,
           ", ", heads, " and ", inner);
  ST_CHECK(features % heads == 0, InvalidInput, "Transformer: features must be a multiple of heads, got ",
           features, " and ", heads);
  check_dropout("Transformer", dropout);
}

namespace {

std::shared_ptr<MultiHeadAttention> attention(const TransformerOptions& o, std::int64_t memory_features) {
  return std::make_shared<MultiHeadAttention>(AttentionOptions{.query_features = o.features,
                                                               .memory_features = memory_features,
                                                               .features = o.features,
                                                               .heads = o.heads});
}

/// The feed-forward sub-layer: norm(x + FFN(x)).
class Position : public torch::nn::Module {
 public:
  explicit Position(const TransformerOptions& o) : torch::nn::Module("Position") {
    feed_forward_ = register_module("feed_forward", std::make_shared<FeedForward>(o.features, o.inner));
    norm_ = register_module("norm", std::make_shared<AddNorm>(o.features, 1e-5, o.dropout));
  }
  Tensor forward(const Tensor& x) const { return norm_->forward(feed_forward_->forward(x), x); }

 private:
  std::shared_ptr<FeedForward> feed_forward_;
  std::shared_ptr<AddNorm> norm_;
};

}  // namespace

class TransformerEncoderLayer : public torch::nn::Module {
 public:
  explicit TransformerEncoderLayer(const TransformerOptions& o)
      : torch::nn::Module("TransformerEncoderLayer") {
    attention_ = register_module("attention", attention(o, o.features));
    norm_ = register_module("norm", std::make_shared<AddNorm>(o.features, 1e-5, o.dropout));
    position_ = register_module("position", std::make_shared<Position>(o));
  }

  Tensor forward(const Tensor& x, const Tensor& mask) const {
    const Tensor a = norm_->forward(attention_->forward(x, x, x, mask), x);  // [B, T, D]
    return position_->forward(a);                                            // [B, T, D]
  }

 private:
  std::shared_ptr<MultiHeadAttention> attention_;
  std::shared_ptr<AddNorm> norm_;
  std::shared_ptr<Position> position_;
};

class TransformerDecoderLayer : public torch::nn::Module {
 public:
  explicit TransformerDecoderLayer(const TransformerOptions& o)
      : torch::nn::Module("TransformerDecoderLayer") {
    words_ = register_module("words", attention(o, o.features));
    words_norm_ = register_module("words_norm", std::make_shared<AddNorm>(o.features, 1e-5, o.dropout));
    memory_ =
        register_module("memory", attention(o, o.memory_features == 0 ? o.features : o.memory_features));
    memory_norm_ = register_module("memory_norm", std::make_shared<AddNorm>(o.features, 1e-5, o.dropout));
    position_ = register_module("position", std::make_shared<Position>(o));
  }

  KeysValues project(const Tensor& memory, const Tensor& mask) const {
    return memory_->project(memory, memory, mask);
  }

  Tensor forward(const Tensor& y, const Tensor& memory, const Tensor& mask) const {
    return attend(self_attend(y), project(memory, mask), mask);  // [B, T, D]
  }

  Tensor weights(const Tensor& y, const Tensor& memory, const Tensor& mask) const {
    return memory_->with_weights(self_attend(y), memory, memory, mask).second.mean(1);  // [B, T, S]
  }

  /// y [N, 1, D], the previous words' keys and values [N, heads, t, D / heads] -> [N, 1, D], those of t + 1
  /// words
  std::pair<Tensor, KeysValues> step(const Tensor& y, const KeysValues& previous, const KeysValues& memory,
                                     const Tensor& mask) const {
    const KeysValues word = words_->project(y, y);
    const KeysValues words{at::cat({previous.keys, word.keys}, 2),
                           at::cat({previous.values, word.values}, 2)};
    const Tensor a = words_norm_->forward(words_->attend(y, words), y);  // [N, 1, D]
    // The hypotheses of a sentence share its memory, as if they were words of one hypothesis.
    const Tensor queries = a.reshape({memory.keys.size(0), -1, a.size(2)});  // [B, N / B, D]
    return {attend(queries, memory, mask).reshape(a.sizes()), words};        // [N, 1, D]
  }

 private:
  /// Needs no mask: causal attention of words does not see the padding after them.
  Tensor self_attend(const Tensor& y) const {
    return words_norm_->forward(words_->forward(y, y, y, {}, /*causal=*/true), y);  // [B, T, D]
  }
  Tensor attend(const Tensor& a, const KeysValues& memory, const Tensor& mask) const {
    return position_->forward(memory_norm_->forward(memory_->attend(a, memory, mask), a));
  }

  std::shared_ptr<MultiHeadAttention> words_, memory_;
  std::shared_ptr<AddNorm> words_norm_, memory_norm_;
  std::shared_ptr<Position> position_;
};

TransformerEncoder::TransformerEncoder(const TransformerOptions& options)
    : torch::nn::Module("TransformerEncoder") {
  options.check();
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(register_module(std::to_string(i), std::make_shared<TransformerEncoderLayer>(options)));
  }
}

Tensor TransformerEncoder::forward(Tensor x, const Tensor& mask) const {
  for (const auto& layer : layers_) x = layer->forward(x, mask);
  return x;
}

TransformerDecoder::TransformerDecoder(const TransformerOptions& options)
    : torch::nn::Module("TransformerDecoder") {
  options.check();
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(register_module(std::to_string(i), std::make_shared<TransformerDecoderLayer>(options)));
  }
}

Tensor TransformerDecoder::forward(Tensor y, const Tensor& memory, const Tensor& memory_mask) const {
  for (const auto& layer : layers_) y = layer->forward(y, memory, memory_mask);
  return y;
}

Tensor TransformerDecoder::weights(Tensor y, const Tensor& memory, const Tensor& memory_mask,
                                   std::int64_t layer) const {
  const std::int64_t count = std::ssize(layers_), index = layer < 0 ? layer + count : layer;
  ST_CHECK(index >= 0 && index < count, InvalidInput, "layer must be from ", -count, " to ", count - 1,
           ", got ", layer);
  for (std::int64_t i = 0; i < index; ++i) {
    y = layers_[static_cast<std::size_t>(i)]->forward(y, memory, memory_mask);
  }
  return layers_[static_cast<std::size_t>(index)]->weights(y, memory, memory_mask);
}

DecoderStart TransformerDecoder::start(const Tensor& memory, const Tensor& memory_mask) const {
  DecoderStart start;
  for (const auto& layer : layers_) {
    const auto [keys, values] = layer->project(memory, memory_mask);  // [B, heads, S, D / heads]
    start.memory.insert(start.memory.end(), {keys, values});
    const Tensor empty = keys.slice(2, 0, 0);  // [B, heads, 0, D / heads]
    start.cache.insert(start.cache.end(), {empty, empty});
  }
  return start;
}

std::pair<Tensor, DecoderCache> TransformerDecoder::step(const Tensor& y, const DecoderMemory& memory,
                                                         const DecoderCache& cache,
                                                         const Tensor& memory_mask) const {
  Tensor x = y.unsqueeze(1);  // [N, 1, D]
  DecoderCache next_cache;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto [output, words] = layers_[i]->step(x, {cache[2 * i], cache[2 * i + 1]},
                                                  {memory[2 * i], memory[2 * i + 1]}, memory_mask);
    x = output;
    next_cache.insert(next_cache.end(), {words.keys, words.values});
  }
  return {x.squeeze(1), next_cache};
}

std::int64_t TransformerDecoder::length(const DecoderCache& cache) { return cache.at(0).size(2); }

}  // namespace sentencode::nn
