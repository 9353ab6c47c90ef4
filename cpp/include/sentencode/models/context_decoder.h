#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::models {

/// What tells the words behind a sentence (sections 2 and 3.1 of paper 001): all of them at once, by
/// convolutions or by a recurrent network; or each of those before it.
enum class ContextDecoding { cnn, rnn, autoregressive_cnn, autoregressive_rnn };

void parse(std::string_view name, ContextDecoding& choice);  // InvalidInput names the choices
std::string_view name_of(ContextDecoding choice);

struct ContextDecoderOptions {
  ContextDecoding kind = ContextDecoding::cnn;
  std::int64_t predict = 30;    // N, words
  std::int64_t channels = 600;  // C, of what the first layer gives each place
  std::int64_t inner = 300;     // of what the convolutions behind it give, but for the last one
  std::int64_t window = 3;      // of convolutions
  std::int64_t layers = 3;      // the first one, and convolutions behind it
};

/// Of a code z [B, Z] the states u [B, T, E] that words are told from.
class ContextDecoder : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  static std::shared_ptr<ContextDecoder> make(const ContextDecoderOptions& options, std::int64_t features,
                                              std::int64_t code);

  /// Whether a word is told from those before it. Else `before` means nothing, and T is N.
  virtual bool autoregressive() const = 0;
  /// before: vectors of the words before, [B, T, E]
  virtual at::Tensor forward(const at::Tensor& z, const Sequences& before) const = 0;

  /// The same, one word after the other, as of nn::Decoder.
  virtual nn::DecoderStart start(const at::Tensor& z) const = 0;
  virtual std::pair<at::Tensor, nn::DecoderCache> step(const at::Tensor& y,  // [M, E] -> [M, E]
                                                       const nn::DecoderMemory& memory,
                                                       const nn::DecoderCache& cache) const = 0;
};

}  // namespace sentencode::models
