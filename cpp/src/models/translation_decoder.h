#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <utility>

#include "sentencode/models/translation.h"

namespace sentencode::models {

enum class Embedding { none, last, mean, max, heads };     // how states become a sentence embedding
enum class Conditioning { initial, constant, attention };  // how the decoder reads it: see Architecture

struct ArchitectureParts {
  bool transformer;
  Embedding embedding;
  Conditioning conditioning;
};

ArchitectureParts parts_of(Architecture architecture);
std::int64_t embedding_size(const TranslationOptions& options);

/// The decoder of a `TranslationNetwork`; memory is that of `TranslationNetwork::read`.
class TranslationDecoder : public torch::nn::Module {
 public:
  using Module::Module;

  struct Step {
    at::Tensor states;  // [N, E], the inputs of the softmax
    nn::DecoderCache cache;
    at::Tensor weights;  // [N, S] of the attention; undefined if there is none
  };

  /// y: vectors of the previous words [B, T, E] -> inputs of the softmax [B, T, E]
  virtual at::Tensor forward(const nn::DecoderMemory& memory, const Sequences& y) const = 0;
  /// Attention weights [B, T, S].
  virtual at::Tensor weights(const nn::DecoderMemory& memory, const Sequences& y,
                             std::int64_t layer) const = 0;
  virtual nn::DecoderStart start(const nn::DecoderMemory& memory) const = 0;
  /// y [N, E]; memory and cache are those of `start`.
  virtual Step step(const at::Tensor& y, const nn::DecoderMemory& memory,
                    const nn::DecoderCache& cache) const = 0;
};

std::shared_ptr<TranslationDecoder> make_translation_decoder(const TranslationOptions& options);

}  // namespace sentencode::models
