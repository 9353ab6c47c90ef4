#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/models/writing_network.h"

namespace torch::nn {
class LinearImpl;
}
namespace sentencode::nn {
class RecurrentStack;
}

namespace sentencode::models {

struct SkipThoughtsOptions {
  nn::WordWriterOptions words{.trainable_words = true, .tied = true};
  std::int64_t hidden = 600;
  bool bidirectional = false;
  bool layer_norm = false;

  static constexpr std::string_view kLater[] = {"layer_norm"};  // may be missing in files
};

template <OptionsOf<SkipThoughtsOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied,
        {"Ties the output layer to the word embeddings, to whose width the decoder states are then mapped."});
  visit("hidden", of.hidden, at_least(1, "Dimensions of a sentence embedding, and units of both decoders."));
  visit("bidirectional", of.bidirectional,
        {"Makes the encoder bidirectional, with half of `hidden` in each direction."});
  visit("layer_norm", of.layer_norm,
        {"Normalises the encoder and both decoders (Ba, Kiros and Hinton 2016); steps take longer."});
}

/// Skip-thoughts (Kiros et al. 2015), the baseline of paper 001: the sentence embedding is the last state of
/// a GRU, and the initial state of two more GRUs that predict the previous and the next sentence. Batches
/// have three fields: the sentence, the previous one, the next one, the last two with their ends.
///
/// In its public code: decoders are as wide as the embedding, which is their initial state; both share one
/// softmax. Its two directions are two models whose embeddings are concatenated; here they are one model,
/// with 1200 units each.
class SkipThoughtsNetwork : public WritingNetwork {
 public:
  using Options = SkipThoughtsOptions;
  explicit SkipThoughtsNetwork(const SkipThoughtsOptions& options);
  const SkipThoughtsOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  training::Loss loss(const training::TensorBatch& batch) override;
  /// -log p of each decoder's words.
  std::vector<std::string> figures() const override { return {"previous", "next"}; }

 private:
  nn::WrittenLoss decoder_loss(const nn::RecurrentStack& decoder, const at::Tensor& z,
                               const training::TokenTensors& words) const;

  SkipThoughtsOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_, previous_, next_;
  std::shared_ptr<torch::nn::LinearImpl> project_;  // to the width of words, if tied
};

}  // namespace sentencode::models
