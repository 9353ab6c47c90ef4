#pragma once

#include <memory>
#include <utility>

#include "sentencode/models/autoencoder.h"

namespace sentencode::nn {
class RecurrentStack;
}

namespace sentencode::models {

class StateDecoder;

struct DenoisingOptions {
  std::int64_t hidden = 2048;
  double dropout = 0.5;     // on words' vectors
  double drop_words = 0.1;  // p_o
  double swap_words = 0.1;  // p_x
};

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
  DenoisingNetwork(const AutoencoderOptions& words, const DenoisingOptions& options);

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderState start(const nn::DecoderState& memory) override;
  std::pair<at::Tensor, nn::DecoderState> step(const at::Tensor& ids, const nn::DecoderState& state) override;
  std::string config() const override;

 protected:
  Sequences corrupted(const Sequences& sentences) override;

 private:
  at::Tensor drop(const at::Tensor& x) const;

  DenoisingOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_;
  std::shared_ptr<StateDecoder> decoder_;
};

}  // namespace sentencode::models
