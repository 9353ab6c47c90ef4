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
  std::int64_t hidden = 512;
  double dropout = 0.1;
  double drop_words = 0.1;  // p_o
  double swap_words = 0.1;  // p_x
};

template <OptionsOf<DenoisingOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("hidden", of.hidden, at_least(1, "Dimensions of a sentence embedding, and units of both LSTMs."));
  visit("dropout", of.dropout, dropout_probability("Dropout probability of the word vectors."));
  visit("drop_words", of.drop_words,
        probability("Probability that a word is dropped in training without a head."));
  visit("swap_words", of.swap_words,
        probability("Probability that two neighbouring words are swapped in training without a head."));
}

/// Sentences with noise: each word is dropped with probability p_o; then each pair of neighbours (first and
/// second, third and fourth, ...) is swapped with probability p_x. The last word, the end, stays where it is.
/// Random numbers are torch's.
Sequences noisy(const Sequences& sentences, double drop_words, double swap_words);

/// The sequential denoising autoencoder, LSTM-SDAE in paper 000, after Hill et al. (2016).
///
/// In paper 000: an LSTM encodes a corrupted sentence, an LSTM reconstructs it; the decoder's initial state
/// is made from the embedding; teacher forcing. The noise is that of Hill et al. Our choice: the embedding is
/// the encoder's last h; h_0 and c_0 both come from it; dropout.
class DenoisingNetwork : public Autoencoder {
 public:
  using Options = DenoisingOptions;
  explicit DenoisingNetwork(const DenoisingOptions& options);
  const DenoisingOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& memory) override;
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
