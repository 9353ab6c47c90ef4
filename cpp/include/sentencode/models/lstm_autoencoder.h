#pragma once

#include <memory>

#include "sentencode/models/autoencoder.h"
#include "sentencode/models/latent_attention.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::nn {
class RecurrentStack;
}

namespace sentencode::models {

struct LSTMAutoencoderOptions {
  AutoencoderOptions words{};
  LayerOptions layers{};  // hidden is even: half of it for each direction
  nn::Pooling pooling = nn::Pooling::mean_max;
};

template <OptionsOf<LSTMAutoencoderOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  for_options(of.layers, visit);
  visit("pooling", of.pooling, {"Poolings in the sentence embedding: \"mean_max\", \"mean\" or \"max\"."});
}

/// The recurrent variant of MeanMaxNetwork: RAE in section 4.4 of paper 000, which published no code for it.
///
/// In the paper: LSTMs replace self-attention; the states of a bidirectional LSTM are pooled; an LSTM decoder
/// attends to the pooled vectors; sizes are those of the other models.
/// Our choice: each direction of the encoder has half of the hidden units, so that embeddings are as wide as
/// the AAE's; no position encodings; the decoder's LSTM starts from zero, and eq. 16-20 follow it unchanged.
class LSTMAutoencoderNetwork : public LatentAutoencoder {
 public:
  using Options = LSTMAutoencoderOptions;
  explicit LSTMAutoencoderNetwork(const LSTMAutoencoderOptions& options);
  const LSTMAutoencoderOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& memory) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;
  at::Tensor attention(const Sequences& sentences) override;

 private:
  at::Tensor rows(const at::Tensor& z) const;  // [B, dim] -> [B, rows, H]
  at::Tensor drop(const at::Tensor& x) const;  // dropout of the word vectors
  at::Tensor recur(const Sequences& y) const;  // [B, T, H], instead of eq. 15

  LSTMAutoencoderOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_, decoder_;
  std::shared_ptr<LatentAttention> latent_;
};

}  // namespace sentencode::models
