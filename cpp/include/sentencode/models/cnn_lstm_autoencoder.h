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
  std::int64_t hidden = 512;
  std::int64_t filters = 200;
  std::vector<std::int64_t> windows = {3, 4, 5};
  double dropout = 0.1;
};

template <OptionsOf<CNNLSTMAutoencoderOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("hidden", of.hidden, at_least(1, "Units of the decoder's LSTM."));
  visit("filters", of.filters, at_least(1, "Filters of each window width."));
  visit("windows", of.windows,
        at_least(1, "Window widths of the filters, in words. Shorter sentences are padded with zeros."));
  visit("dropout", of.dropout, dropout_probability("Dropout probability of the word vectors."));
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
  std::vector<std::shared_ptr<nn::Convolution>> convolutions_;
  std::shared_ptr<StateDecoder> decoder_;
};

}  // namespace sentencode::models
