#pragma once

#include <memory>

#include "sentencode/models/autoencoder.h"

namespace sentencode::nn {
class RecurrentStack;
}

namespace sentencode::models {

class StateDecoder;

struct DenoisingOptions {
  AutoencoderOptions words{};
  std::int64_t hidden = 2048;
  double dropout = 0.5;     // on words' vectors
  double drop_words = 0.1;  // p_o
  double swap_words = 0.1;  // p_x
};

template <OptionsOf<DenoisingOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("hidden", of.hidden);
  visit("dropout", of.dropout);
  visit("drop_words", of.drop_words);
  visit("swap_words", of.swap_words);
}

/// Words of sentences lost and swapped: each is left out with probability p_o; then of each two neighbours
/// (first and second, third and fourth, ...) the one takes the other's place with probability p_x. The last
/// word, the end, stays where it is. Random numbers are torch's.
Sequences noisy(const Sequences& sentences, double drop_words, double swap_words);

/// The sequential denoising autoencoder, LSTM-SDAE in paper 000, after Hill et al. (2016).
///
/// Read in paper 000: an LSTM encodes a corrupted sentence, an LSTM writes the sentence; the encoding sets
/// only the decoder's initial state; teacher forcing. The noise is that of Hill et al.
/// Inferred: the code is the encoder's last h; both h_0 and c_0 of the decoder are made of it; dropout.
class DenoisingNetwork : public Autoencoder {
 public:
  using Options = DenoisingOptions;
  explicit DenoisingNetwork(const DenoisingOptions& options);
  const DenoisingOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& given) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

 protected:
  Sequences corrupted(const Sequences& sentences) override;

 private:
  at::Tensor drop(const at::Tensor& x) const;

  DenoisingOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_;
  std::shared_ptr<StateDecoder> decoder_;
};

}  // namespace sentencode::models
