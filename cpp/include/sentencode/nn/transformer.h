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
  std::int64_t inner = 2048;         // of the feed-forward layers
  double dropout = 0.1;              // on what each sub-layer gives, before residual and norm
  std::int64_t memory_features = 0;  // Dm, of what a decoder looks at; 0: D

  void check() const;  // InvalidInput that names the member
};

class TransformerEncoderLayer;
class TransformerDecoderLayer;

/// Layers of self-attention and a feed-forward layer, each with residual and norm.
class TransformerEncoder : public torch::nn::Module {
 public:
  explicit TransformerEncoder(const TransformerOptions& options);

  /// x [B, T, D], with positions already; mask [B, T] bool or undefined for all -> [B, T, D]. Behind a
  /// sentence's end there may be anything.
  at::Tensor forward(at::Tensor x, const at::Tensor& mask = {}) const;

 private:
  std::vector<std::shared_ptr<TransformerEncoderLayer>> layers_;
};

/// Layers of causal self-attention, attention to a memory, and a feed-forward layer.
class TransformerDecoder : public torch::nn::Module {
 public:
  explicit TransformerDecoder(const TransformerOptions& options);

  /// y [B, T, D], memory [B, S, Dm], memory_mask [B, S] bool or undefined for all -> [B, T, D]
  at::Tensor forward(at::Tensor y, const at::Tensor& memory, const at::Tensor& memory_mask = {}) const;

  /// What each word looks at in the memory in one of the layers, the mean of its heads -> [B, T, S]. Layers
  /// from 0 on; from the end if below 0.
  at::Tensor weights(at::Tensor y, const at::Tensor& memory, const at::Tensor& memory_mask = {},
                     std::int64_t layer = -1) const;

  /// Keys and values of the memory, layer by layer; and of the words so far, none yet, in the cache.
  DecoderStart start(const at::Tensor& memory, const at::Tensor& memory_mask = {}) const;
  /// One word further, y [N, D]: N is B times how many hypotheses a sentence has, which stand together. The
  /// first tensors of `memory` are those of `start`. -> [N, D], cache
  std::pair<at::Tensor, DecoderCache> step(const at::Tensor& y, const DecoderMemory& memory,
                                           const DecoderCache& cache,
                                           const at::Tensor& memory_mask = {}) const;
  /// How many words a cache holds.
  static std::int64_t length(const DecoderCache& cache);

 private:
  std::vector<std::shared_ptr<TransformerDecoderLayer>> layers_;
};

}  // namespace sentencode::nn
