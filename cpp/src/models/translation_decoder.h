#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <utility>

#include "sentencode/models/translation.h"

namespace sentencode::models {

/// What an architecture is: of what the decoder is given, and how.
struct Anatomy {
  enum class Sentence { none, last, mean, max, heads };
  enum class Given { begin, constant, attention };

  bool transformer;
  Sentence sentence;
  Given given;
};

Anatomy anatomy_of(Architecture architecture);
std::int64_t vector_size(const TranslationOptions& options);  // of a sentence

struct Written {
  at::Tensor states;  // [N, E]: what words are told from
  nn::DecoderCache cache;
  at::Tensor weights;  // [N, S]: what was looked at; undefined where there is no attention, or none is kept
};

/// Writes the target, of what `TranslationNetwork::read` gives and of nothing else.
class TranslationDecoder : public torch::nn::Module {
 public:
  using Module::Module;

  /// y: vectors of the words before, begin first -> [B, T, E]
  virtual at::Tensor forward(const nn::DecoderMemory& given, const Sequences& y) const = 0;
  virtual at::Tensor weights(const nn::DecoderMemory& given, const Sequences& y,
                             std::int64_t layer) const = 0;
  virtual nn::DecoderStart start(const nn::DecoderMemory& given) const = 0;
  /// y [N, E]
  virtual Written step(const at::Tensor& y, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) const = 0;
};

std::shared_ptr<TranslationDecoder> make_translation_decoder(const TranslationOptions& options);

}  // namespace sentencode::models
