#include "sentencode/models/cnn_lstm_autoencoder.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/models/state_decoder.h"
#include "sentencode/nn/convolution.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::models {

using at::Tensor;

CNNLSTMAutoencoderNetwork::CNNLSTMAutoencoderNetwork(const CNNLSTMAutoencoderOptions& options)
    : Autoencoder("CNNLSTMAutoencoderNetwork", checked(options).words,
                  std::ssize(options.windows) * options.filters, options.hidden),
      options_(options) {
  ST_CHECK(!options.windows.empty(), InvalidInput, "windows must be one or more widths, got none");
  for (const std::int64_t window : options.windows) {
    ST_CHECK(std::count(options.windows.begin(), options.windows.end(), window) == 1, InvalidInput,
             "windows must differ, got ", window, " twice");
    convolutions_.push_back(
        register_module("convolution_" + std::to_string(window),
                        std::make_shared<nn::Convolution>(options.words.features, options.filters, window)));
  }
  decoder_ = register_module("decoder",
                             std::make_shared<StateDecoder>(options.words.features, dim(), options.hidden));
}

Tensor CNNLSTMAutoencoderNetwork::drop(const Tensor& x) const {
  return at::dropout(x, options_.dropout, nn::trains(*this));
}

Tensor CNNLSTMAutoencoderNetwork::encode(const Sequences& sentences) {
  const Tensor x = drop(sentences.x);  // [B, T, E]
  std::vector<Tensor> z;
  for (const auto& convolution : convolutions_) {
    const auto [h, windows] = convolution->forward(x, sentences.mask);  // [B, T, F], [B, T]
    z.push_back(nn::masked_pooling(h, windows, nn::Pooling::max));      // [B, F]
  }
  return at::cat(z, 1);  // [B, dim]
}

Tensor CNNLSTMAutoencoderNetwork::decode(const Tensor& z, const Sequences& y) {
  check_code(z);
  return decoder_->forward(z, {drop(y.x), y.lengths, y.mask, y.full, y.host_lengths});  // [B, T, H]
}

nn::DecoderStart CNNLSTMAutoencoderNetwork::start(const nn::DecoderMemory& memory) {
  check_code(memory.at(0));
  return {{}, decoder_->start(memory[0])};
}

nn::DecoderStep CNNLSTMAutoencoderNetwork::step(const Tensor& ids, const nn::DecoderMemory& /*memory*/,
                                                const nn::DecoderCache& cache) {
  auto [h, next] = decoder_->step(drop(writer().vectors(ids)), cache);
  return {writer().logits(h), std::move(next)};
}

}  // namespace sentencode::models
