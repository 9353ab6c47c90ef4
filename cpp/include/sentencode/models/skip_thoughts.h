#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
  nn::WordWriterOptions words{.trainable_words = true};
  std::int64_t hidden = 2400;  // of a sentence's vector, and of both decoders
  bool bidirectional = false;  // a half of `hidden` for each direction then
};

template <OptionsOf<SkipThoughtsOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied);
  visit("hidden", of.hidden);
  visit("bidirectional", of.bidirectional);
}

/// Skip-thoughts (Kiros et al. 2015), which paper 001 compares itself with: a sentence's vector is the last
/// state of a GRU, with which two more GRUs begin to write the sentence before and the sentence behind it.
/// Batches have three fields: the sentence, the one before, the one behind it, both with their ends.
///
/// Read in its public code: decoders are as wide as the vector, which is their first state; one softmax for
/// both, with a matrix of its own. Its two directions are two models, of which vectors are put side by side;
/// here they are one, with 1200 units each.
/// Tied, where the word table is that matrix, states are mapped to the width of words before.
class SkipThoughtsNetwork : public WritingNetwork {
 public:
  using Options = SkipThoughtsOptions;
  explicit SkipThoughtsNetwork(const SkipThoughtsOptions& options);
  const SkipThoughtsOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  training::Loss loss(const training::TensorBatch& batch) override;
  /// What each decoder's words cost, -log p.
  std::vector<std::string> figures() const override { return {"previous", "next"}; }

 private:
  nn::WrittenLoss told(const nn::RecurrentStack& decoder, const at::Tensor& z,
                       const training::TokenTensors& words) const;

  SkipThoughtsOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_, previous_, next_;
  std::shared_ptr<torch::nn::LinearImpl> narrow_;  // where the softmax is tied
};

}  // namespace sentencode::models
