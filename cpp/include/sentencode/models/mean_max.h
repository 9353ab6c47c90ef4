#pragma once

#include <memory>
#include <string>

#include "sentencode/models/autoencoder.h"
#include "sentencode/models/latent_attention.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::models {

struct MeanMaxOptions {
  AutoencoderOptions words{};
  LayerOptions layers{};
  nn::Pooling pooling = nn::Pooling::mean_max;
  std::string positions = "sinusoidal";  // or "learnt", as the public code has it
  std::int64_t places = 34;              // of learnt positions; words beyond them have the last one's
};

template <OptionsOf<MeanMaxOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  for_options(of.layers, visit);
  visit("pooling", of.pooling);
  visit("positions", of.positions);
  visit("places", of.places);
}

class MeanMaxEncoder;
class MeanMaxDecoder;

/// The mean-max attention autoencoder of paper 000 (Zhang et al. 2018).
class MeanMaxNetwork : public LatentAutoencoder {
 public:
  using Options = MeanMaxOptions;
  explicit MeanMaxNetwork(const MeanMaxOptions& options);
  const MeanMaxOptions& options() const { return options_; }

  /// [mean, max]: the paper writes the maximum first, its code the mean. Attention knows no order.
  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& given) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;
  at::Tensor attention(const Sequences& sentences) override;

 private:
  at::Tensor rows(const at::Tensor& z) const;  // [B, dim] -> [B, rows, H]

  MeanMaxOptions options_;
  std::shared_ptr<MeanMaxEncoder> encoder_;
  std::shared_ptr<MeanMaxDecoder> decoder_;
};

}  // namespace sentencode::models
