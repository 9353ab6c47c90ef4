#include "sentencode/models/cnn_lstm_autoencoder.h"

#include <utility>

#include "sentencode/models/state_decoder.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

CNNLSTMAutoencoderNetwork::CNNLSTMAutoencoderNetwork(const CNNLSTMAutoencoderOptions& options)
    : Autoencoder("CNNLSTMAutoencoderNetwork", checked(options).words, options.layers.dim(),
                  options.layers.hidden),
      options_(options),
      encoder_(*this, options.words.features, options.layers) {
  decoder_ = register_module(
      "decoder", std::make_shared<StateDecoder>(options.words.features, dim(), options.layers.hidden));
}

Tensor CNNLSTMAutoencoderNetwork::drop(const Tensor& x) const {
  return options_.layers.drop_input(x, nn::trains(*this));
}

Tensor CNNLSTMAutoencoderNetwork::encode(const Sequences& sentences) {
  return encoder_.forward(sentences, nn::trains(*this));  // [B, dim]
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
