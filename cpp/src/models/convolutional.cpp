#include "sentencode/models/convolutional.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <string>

#include "models/config.h"
#include "sentencode/error.h"
#include "sentencode/models/state_decoder.h"
#include "sentencode/nn/convolution.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::models {

using at::Tensor;

ConvolutionalNetwork::ConvolutionalNetwork(const AutoencoderOptions& words,
                                           const ConvolutionalOptions& options)
    : Autoencoder("ConvolutionalNetwork", words, std::ssize(options.windows) * options.filters,
                  options.hidden),
      options_(options) {
  ST_CHECK(!options.windows.empty(), InvalidInput, "windows must be one at least, got none");
  ST_CHECK(options.dropout >= 0 && options.dropout < 1, InvalidInput,
           "dropout must be at least 0 and less than 1, got ", options.dropout);
  for (const std::int64_t window : options.windows) {
    ST_CHECK(std::count(options.windows.begin(), options.windows.end(), window) == 1, InvalidInput,
             "windows must differ, got ", window, " twice");
    convolutions_.push_back(
        register_module("convolution_" + std::to_string(window),
                        std::make_shared<nn::Convolution>(words.features, options.filters, window)));
  }
  decoder_ =
      register_module("decoder", std::make_shared<StateDecoder>(words.features, dim(), options.hidden));
}

Tensor ConvolutionalNetwork::drop(const Tensor& x) const {
  return at::dropout(x, options_.dropout, nn::trains(*this));
}

Tensor ConvolutionalNetwork::encode(const Sequences& sentences) {
  const Tensor x = drop(sentences.x);  // [B, T, E]
  std::vector<Tensor> z;
  for (const auto& convolution : convolutions_) {
    const auto [h, windows] = convolution->forward(x, sentences.mask);  // [B, T, F], [B, T]
    z.push_back(nn::masked_pooling(h, windows, nn::Pooling::max));      // [B, F]
  }
  return at::cat(z, 1);  // [B, dim]
}

Tensor ConvolutionalNetwork::decode(const Tensor& z, const Sequences& y) {
  check_code(z);
  return decoder_->forward(z, {drop(y.x), y.lengths, y.mask});  // [B, T, H]
}

nn::DecoderState ConvolutionalNetwork::start(const nn::DecoderState& memory) {
  check_code(memory.at(0));
  return decoder_->start(memory[0]);
}

std::pair<Tensor, nn::DecoderState> ConvolutionalNetwork::step(const Tensor& ids,
                                                               const nn::DecoderState& state) {
  auto [h, next] = decoder_->step(drop(vectors(ids)), state);
  return {logits(h), std::move(next)};
}

std::string ConvolutionalNetwork::config() const {
  return config_of("ConvolutionalNetwork", options(), options_);
}

}  // namespace sentencode::models
