#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sentencode/models/autoencoder.h"

namespace sentencode::nn {
class Convolution;
}

namespace sentencode::models {

class StateDecoder;

struct ConvolutionalOptions {
  std::int64_t hidden = 2048;  // of the decoder
  std::int64_t filters = 800;  // for each window
  std::vector<std::int64_t> windows = {3, 4, 5};
  double dropout = 0.5;  // on words' vectors
};

/// The CNN-LSTM autoencoder of paper 000, after Gan et al. (2017).
///
/// Read in paper 000: a convolutional encoder, an LSTM decoder whose initial state alone the encoding sets;
/// teacher forcing. Windows of 3, 4 and 5 words, tanh and the maximum over time are those of Gan et al.
/// Inferred: a sentence that is shorter than a window is filled up with zeros; both h_0 and c_0 of the
/// decoder are made of the code; dropout.
class ConvolutionalNetwork : public Autoencoder {
 public:
  ConvolutionalNetwork(const AutoencoderOptions& words, const ConvolutionalOptions& options);

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderState start(const nn::DecoderState& memory) override;
  std::pair<at::Tensor, nn::DecoderState> step(const at::Tensor& ids, const nn::DecoderState& state) override;
  std::string config() const override;

 private:
  at::Tensor drop(const at::Tensor& x) const;

  ConvolutionalOptions options_;
  std::vector<std::shared_ptr<nn::Convolution>> convolutions_;
  std::shared_ptr<StateDecoder> decoder_;
};

}  // namespace sentencode::models
