#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::models {

/// How the following words are predicted (sections 2 and 3.1 of paper 001): all at once, by convolutions or a
/// recurrent network, or each from the previous ones.
enum class ContextDecoding { cnn, rnn, autoregressive_cnn, autoregressive_rnn };

constexpr EnumNames<4> enum_names(ContextDecoding) {
  return {"decoder", {"cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn"}};
}

struct ContextDecoderOptions {
  ContextDecoding kind = ContextDecoding::cnn;
  std::int64_t predict = 30;    // N, words
  std::int64_t channels = 200;  // C, output channels of the first layer
  std::int64_t inner = 100;     // output channels of the convolutions, except the last
  std::int64_t window = 3;      // of the convolutions
  std::int64_t layers = 3;      // the first one and the convolutions
};

/// Maps a sentence embedding z [B, Z] to decoder states u [B, T, E]; the softmax reads them.
class ContextDecoder : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  static std::shared_ptr<ContextDecoder> make(const ContextDecoderOptions& options, std::int64_t features,
                                              std::int64_t code);

  /// Whether a word is predicted from the previous ones. If not, `previous` is ignored and T is N.
  virtual bool autoregressive() const = 0;
  /// previous: vectors of the previous words, [B, T, E]
  virtual at::Tensor forward(const at::Tensor& z, const Sequences& previous) const = 0;

  /// The same word by word, as in nn::Decoder.
  virtual nn::DecoderStart start(const at::Tensor& z) const = 0;
  virtual std::pair<at::Tensor, nn::DecoderCache> step(const at::Tensor& y,  // [M, E] -> [M, E]
                                                       const nn::DecoderMemory& memory,
                                                       const nn::DecoderCache& cache) const = 0;
};

}  // namespace sentencode::models
