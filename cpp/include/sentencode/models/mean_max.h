#pragma once

#include <cstdint>
#include <memory>

#include "sentencode/models/autoencoder.h"
#include "sentencode/models/latent_attention.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::models {

struct MeanMaxOptions {
  AutoencoderOptions words{};
  LayerOptions layers{};
  nn::Pooling pooling = nn::Pooling::mean_max;
  nn::PositionEncoding positions = nn::PositionEncoding::sinusoidal;
  std::int64_t places = 34;
};

template <OptionsOf<MeanMaxOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  for_options(of.layers, visit);
  visit("pooling", of.pooling, {"Poolings in the sentence embedding: \"mean_max\", \"mean\" or \"max\"."});
  visit("positions", of.positions,
        {"Position encodings: \"sinusoidal\", or \"learnt\" as in the public code."});
  visit("places", of.places,
        at_least(1, "Number of learnt position encodings; later positions have the last one's."));
}

class MeanMaxEncoder;
class MeanMaxDecoder;

/// The mean-max attention autoencoder of paper 000 (Zhang et al. 2018).
class MeanMaxNetwork : public LatentAutoencoder {
 public:
  using Options = MeanMaxOptions;
  explicit MeanMaxNetwork(const MeanMaxOptions& options);
  const MeanMaxOptions& options() const { return options_; }

  /// [mean, max], in the order of the public code; the paper has the maximum first. Attention ignores the
  /// order.
  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override;
  nn::DecoderStart start(const nn::DecoderMemory& memory) override;
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
