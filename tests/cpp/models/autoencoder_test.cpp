#include "sentencode/models/autoencoder.h"

#include "models/autoencoders.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

/// Its embedding is the first word, which it predicts at each position.
class Parrot : public Autoencoder {
 public:
  explicit Parrot(const AutoencoderOptions& words)
      : Autoencoder("Parrot", words, words.features, words.features) {}
  at::Tensor encode(const Sequences& sentences) override { return sentences.x.select(1, 0); }
  at::Tensor decode(const at::Tensor& z, const Sequences& y) override {
    inputs = y.x;
    return z.unsqueeze(1).expand_as(y.x);
  }
  nn::DecoderStart start(const nn::DecoderMemory& memory) override { return {memory, {}}; }
  nn::DecoderStep step(const at::Tensor&, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override {
    return {writer().logits(memory[0]), cache};
  }
  at::Tensor inputs;

 protected:
  Sequences corrupted(const Sequences& sentences) override {
    return Sequences::of(at::ones_like(sentences.x), sentences.lengths);
  }
};

TEST(Autoencoder, DecoderInputsAreShiftedRight) {
  Parrot network(small_words());
  const Sequences sentences = small_sentences(network);
  network.loss(small_batch());
  EXPECT_TRUE(at::equal(network.inputs.select(1, 0)[0], network.writer().table().table()[0]));
  EXPECT_TRUE(at::equal(network.inputs[0].slice(0, 1), sentences.x[0].slice(0, 0, 3)));
  EXPECT_TRUE(at::equal(network.inputs[1].slice(0, 2), at::zeros({2, 6})));
}

TEST(Autoencoder, AddsNoiseOnlyInTraining) {
  Parrot network(small_words());
  const auto loss = [&] { return network.loss(small_batch()).sum.item<double>(); };
  const double with_noise = loss();
  network.eval();
  EXPECT_NE(loss(), with_noise);
}

TEST(Sequences, MaskPadding) {
  const auto sequences = Sequences::of(at::ones({2, 3, 1}), at::tensor({3, 1}, at::kLong));
  EXPECT_TRUE(at::equal(sequences.x.squeeze(2), at::tensor({1.F, 1.F, 1.F, 1.F, 0.F, 0.F}).view({2, 3})));
  EXPECT_THROW(Sequences::of(at::ones({2, 3, 1}), at::tensor({4, 1}, at::kLong)), c10::ValueError);
  EXPECT_THROW(Sequences::of(at::ones({2, 3, 1}), at::tensor({1}, at::kLong)), c10::ValueError);
}

TEST(AutoencoderOptions, AreChecked) {
  AutoencoderOptions options = small_words();
  options.end = 11;
  EXPECT_THROW(Parrot{options}, InvalidInput);
  options = small_words();
  options.sampled_words = 3;
  options.label_smoothing = 0.1;
  EXPECT_THROW(Parrot{options}, InvalidInput);
}

}  // namespace
}  // namespace sentencode::models
