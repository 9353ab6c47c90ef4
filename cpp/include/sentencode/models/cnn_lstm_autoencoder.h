#pragma once

#include <memory>

#include "sentencode/models/autoencoder.h"
#include "sentencode/models/convolutional_encoder.h"

namespace sentencode::models {

class StateDecoder;

struct CNNLSTMAutoencoderOptions {
  AutoencoderOptions words{};
  ConvolutionalOptions layers{};
};

template <OptionsOf<CNNLSTMAutoencoderOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  for_options(of.layers, visit);
}

/// The CNN-LSTM autoencoder of paper 000, after Gan et al. (2017).
///
/// In paper 000: a convolutional encoder, an LSTM decoder whose initial state is made from the embedding,
/// teacher forcing. From Gan et al.: windows of 3, 4 and 5 words, tanh, the maximum over time.
/// Our choice: sentences shorter than a window are padded with zeros; h_0 and c_0 both come from the
/// embedding; dropout.
class CNNLSTMAutoencoderNetwork : public Autoencoder {
 public:
  using Options = CNNLSTMAutoencoderOptions;
  explicit CNNLSTMAutoencoderNetwork(const CNNLSTMAutoencoderOptions& options);
  const CNNLSTMAutoencoderOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& memory) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

 private:
  at::Tensor drop(const at::Tensor& x) const;

  CNNLSTMAutoencoderOptions options_;
  ConvolutionalEncoder encoder_;
  std::shared_ptr<StateDecoder> decoder_;
};

}  // namespace sentencode::models
