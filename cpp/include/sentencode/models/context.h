#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "sentencode/models/context_decoder.h"
#include "sentencode/models/writing_network.h"
#include "sentencode/nn/decoding.h"
#include "sentencode/nn/pooling.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

/// The words before that an autoregressive decoder is told in training (section 3.1 of paper 001): the true
/// ones, those that it draws itself, or any of the table, each as likely as any other.
enum class Feeding { teacher_forcing, always_sampling, uniform_sampling };

void parse(std::string_view name, Feeding& choice);  // InvalidInput names the choices
std::string_view name_of(Feeding choice);

struct ContextOptions {
  nn::WordWriterOptions words{.trainable_words = true, .tied = true};
  std::int64_t hidden = 300;  // of each direction: d_h / 2
  nn::Cell cell = nn::Cell::gru;
  nn::Pooling pooling = nn::Pooling::mean_max;
  ContextDecoderOptions decoder{};
  Feeding feeding = Feeding::teacher_forcing;
};

template <OptionsOf<ContextOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied);
  visit("word_bias", of.words.word_bias);
  visit("hidden", of.hidden);
  visit("cell", of.cell);
  visit("pooling", of.pooling);
  visit("decoder", of.decoder.kind);
  visit("feeding", of.feeding);
  visit("predict", of.decoder.predict);
  visit("channels", of.decoder.channels);
  visit("inner", of.decoder.inner);
  visit("window", of.decoder.window);
  visit("decoder_layers", of.decoder.layers);
}

/// The RNN-CNN model of paper 001 (Tang et al. 2018): what a sentence's vector is learnt by is to tell the
/// words that follow the sentence. Batches have two fields: the sentence, and at most N words behind it.
///
/// Read in paper 001: the bidirectional GRU, the poolings, N parallel maps and two convolutions, N = 30, the
/// tied word table, what autoregressive decoders are fed with; the recurrent decoder has about as many
/// parameters as the convolutions. Eq. 2 has no bias of words, which is an option.
/// Inferred: C = 600, then 300 channels, windows of 3 words, ReLU behind the first two layers, a bias of each
/// word; the recurrent decoder has E / 2 units a direction; the autoregressive GRU has E units and begins at
/// tanh(W z + b), and the autoregressive convolutions see the word before beside each place's map of z.
class ContextNetwork : public WritingNetwork, public nn::Decoder {
 public:
  using Options = ContextOptions;
  explicit ContextNetwork(const ContextOptions& options);
  const ContextOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  training::Loss loss(const training::TensorBatch& batch) override;

  /// u [B, T, E] of z [B, dim]. `before` are the vectors of the words before, [B, T, E]; decoders that tell
  /// all words at once do not look at them, and T is N.
  at::Tensor decode(const at::Tensor& z, const Sequences& before) const;
  nn::DecoderStart start(const nn::DecoderMemory& given) override;  // {z}
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

 private:
  /// The words before that are told, [B, T] int64, where `ids` are to be written.
  at::Tensor fed(const at::Tensor& z, const at::Tensor& ids);

  ContextOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_;
  std::shared_ptr<ContextDecoder> decoder_;
};

}  // namespace sentencode::models
