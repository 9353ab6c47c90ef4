// The two stacks of "Attention is all you need" (Vaswani et al. 2017).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sentencode/nn/attention.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::nn {

struct TransformerOptions {
  std::int64_t features = 512;  // D, a multiple of heads
  std::int64_t layers = 6;
  std::int64_t heads = 8;
  std::int64_t inner = 2048;         // hidden units of the feed-forward layers
  double dropout = 0.1;              // of each sub-layer's output, before residual and norm
  std::int64_t memory_features = 0;  // Dm, of a decoder's memory; 0: D

  void check() const;  // InvalidInput names the member
};

class TransformerEncoderLayer;
class TransformerDecoderLayer;

/// Layers of self-attention and a feed-forward layer, each with residual and norm.
class TransformerEncoder : public torch::nn::Module {
 public:
  explicit TransformerEncoder(const TransformerOptions& options);

  /// x [B, T, D], including position embeddings; mask [B, T] bool or undefined -> [B, T, D], whose padding is
  /// arbitrary.
  at::Tensor forward(at::Tensor x, const at::Tensor& mask = {}) const;

 private:
  std::vector<std::shared_ptr<TransformerEncoderLayer>> layers_;
};

/// Layers of causal self-attention, attention to a memory, and a feed-forward layer.
class TransformerDecoder : public torch::nn::Module {
 public:
  explicit TransformerDecoder(const TransformerOptions& options);

  /// y [B, T, D], memory [B, S, Dm], memory_mask [B, S] bool or undefined -> [B, T, D]
  at::Tensor forward(at::Tensor y, const at::Tensor& memory, const at::Tensor& memory_mask = {}) const;

  /// Attention weights of the memory in one layer, the mean of its heads -> [B, T, S]. Negative layers count
  /// from the last one.
  at::Tensor weights(at::Tensor y, const at::Tensor& memory, const at::Tensor& memory_mask = {},
                     std::int64_t layer = -1) const;

  /// The memory's keys and values of each layer, and a cache without words.
  DecoderStart start(const at::Tensor& memory, const at::Tensor& memory_mask = {}) const;
  /// The next word. y [N, D], where N is a multiple of B: the hypotheses of a sentence are adjacent. `memory`
  /// begins with the tensors of `start`.  -> [N, D], cache
  std::pair<at::Tensor, DecoderCache> step(const at::Tensor& y, const DecoderMemory& memory,
                                           const DecoderCache& cache,
                                           const at::Tensor& memory_mask = {}) const;
  /// The number of words in a cache.
  static std::int64_t length(const DecoderCache& cache);

 private:
  std::vector<std::shared_ptr<TransformerDecoderLayer>> layers_;
};

}  // namespace sentencode::nn
