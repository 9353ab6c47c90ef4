#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sentencode/models/autoencoder.h"

namespace sentencode::nn {
class Convolution;
}

namespace sentencode::models {

class StateDecoder;

struct CNNLSTMAutoencoderOptions {
  AutoencoderOptions words{};
  std::int64_t hidden = 2048;  // of the decoder
  std::int64_t filters = 800;  // for each window
  std::vector<std::int64_t> windows = {3, 4, 5};
  double dropout = 0.5;  // on words' vectors
};

template <OptionsOf<CNNLSTMAutoencoderOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("hidden", of.hidden);
  visit("filters", of.filters);
  visit("windows", of.windows);
  visit("dropout", of.dropout);
}

/// The CNN-LSTM autoencoder of paper 000, after Gan et al. (2017).
///
/// Read in paper 000: a convolutional encoder, an LSTM decoder whose initial state alone the encoding sets;
/// teacher forcing. Windows of 3, 4 and 5 words, tanh and the maximum over time are those of Gan et al.
/// Inferred: a sentence that is shorter than a window is filled up with zeros; both h_0 and c_0 of the
/// decoder are made of the code; dropout.
class CNNLSTMAutoencoderNetwork : public Autoencoder {
 public:
  using Options = CNNLSTMAutoencoderOptions;
  explicit CNNLSTMAutoencoderNetwork(const CNNLSTMAutoencoderOptions& options);
  const CNNLSTMAutoencoderOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& given) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

 private:
  at::Tensor drop(const at::Tensor& x) const;

  CNNLSTMAutoencoderOptions options_;
  std::vector<std::shared_ptr<nn::Convolution>> convolutions_;
  std::shared_ptr<StateDecoder> decoder_;
};

}  // namespace sentencode::models
