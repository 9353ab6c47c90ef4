#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sentencode/models/autoencoder.h"
#include "sentencode/models/latent_attention.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::models {

struct MeanMaxOptions {
  LayerOptions layers;
  nn::Pooling pooling = nn::Pooling::mean_max;
  std::string positions = "sinusoidal";  // or "learnt", as the public code has it
  std::int64_t places = 34;              // of learnt positions; words beyond them have the last one's
};

class MeanMaxEncoder;
class MeanMaxDecoder;

/// The mean-max attention autoencoder of paper 000 (Zhang et al. 2018).
class MeanMaxNetwork : public Autoencoder {
 public:
  MeanMaxNetwork(const AutoencoderOptions& words, const MeanMaxOptions& options);

  /// [mean, max]: the paper writes the maximum first, its code the mean. Attention knows no order.
  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderState start(const nn::DecoderState& memory) override;
  std::pair<at::Tensor, nn::DecoderState> step(const at::Tensor& ids, const nn::DecoderState& state) override;
  std::string config() const override;

  /// What each word of sentences attends to in their own z when it is written: Figure 2.
  /// -> [B, heads, T, rows], rows being the mean, then the maximum
  at::Tensor attention(const Sequences& sentences);

 private:
  at::Tensor rows(const at::Tensor& z) const;  // [B, dim] -> [B, rows, H]

  MeanMaxOptions options_;
  std::shared_ptr<MeanMaxEncoder> encoder_;
  std::shared_ptr<MeanMaxDecoder> decoder_;
};

}  // namespace sentencode::models
