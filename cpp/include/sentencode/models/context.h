#pragma once

#include <cstdint>
#include <memory>

#include "sentencode/models/context_decoder.h"
#include "sentencode/models/writing_network.h"
#include "sentencode/nn/decoding.h"
#include "sentencode/nn/pooling.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

/// The inputs of an autoregressive decoder in training (section 3.1 of paper 001): the true previous words,
/// samples of its own predictions, or words sampled uniformly from the table.
enum class Feeding { teacher_forcing, always_sampling, uniform_sampling };

constexpr EnumNames<3> enum_names(Feeding) {
  return {"feeding", {"teacher_forcing", "always_sampling", "uniform_sampling"}};
}

struct ContextOptions {
  nn::WordWriterOptions words{.trainable_words = true, .tied = true};
  std::int64_t hidden = 300;  // d_h / 2
  nn::Cell cell = nn::Cell::gru;
  nn::Pooling pooling = nn::Pooling::mean_max;
  ContextDecoderOptions decoder{};
  Feeding feeding = Feeding::teacher_forcing;
};

template <OptionsOf<ContextOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied, {"Ties the output layer to the word embeddings."});
  visit("word_bias", of.words.word_bias,
        {"Adds a bias for each word to the output layer; eq. 2 of the paper has none."});
  visit("hidden", of.hidden, at_least(1, "Units of each direction of the encoder."));
  visit("cell", of.cell, {"Recurrent cell of the encoder."});
  visit("pooling", of.pooling,
        {"Pooling of the encoder states; \"last\" takes the last state of each direction. The paper has "
         "\"mean_max\"."});
  visit(
      "decoder", of.decoder.kind,
      {"\"cnn\" (the paper's): a linear map for each position, then two convolutions. \"rnn\": the maps, "
       "then a bidirectional GRU with half of `features` a direction, which has about as many parameters. "
       "\"autoregressive_rnn\": a GRU of `features` units, initialised with tanh(W z + b). "
       "\"autoregressive_cnn\": causal convolutions, whose first layer adds the previous word to the map of "
       "each position."});
  visit("feeding", of.feeding,
        {"Inputs of an autoregressive decoder in training: the true previous words, samples of its own "
         "predictions, or words sampled uniformly from the table."});
  visit("predict", of.decoder.predict, at_least(1, "Maximal number of following words that are predicted."));
  visit("channels", of.decoder.channels, at_least(1, "Output channels of the maps of the positions."));
  visit("inner", of.decoder.inner, at_least(1, "Output channels of the convolutions, except the last."));
  visit("window", of.decoder.window, at_least(1, "Window width of the convolutions, in words."));
  visit("decoder_layers", of.decoder.layers,
        at_least(2,
                 "Layers of the decoder: the maps and the convolutions. Recurrent decoders have one "
                 "recurrent layer."));
}

/// The RNN-CNN model of paper 001 (Tang et al. 2018): the sentence embedding is trained to predict the words
/// of the next sentences. Batches have two fields: the sentence, and at most N words that follow it.
///
/// In paper 001: the bidirectional GRU, the poolings, N parallel maps and two convolutions, N = 30, tied word
/// embeddings, the inputs of autoregressive decoders; the recurrent decoder has about as many parameters as
/// the convolutions. Eq. 2 has no word bias, which is an option.
/// Our choice: C = 600, then 300 channels at the paper's size, windows of 3 words, ReLU after the first two
/// layers, a word bias; E / 2 units in each direction of the recurrent decoder; an autoregressive GRU of E
/// units that is initialised with tanh(W z + b); autoregressive convolutions that add the previous word to
/// the maps of z.
class ContextNetwork : public WritingNetwork, public nn::Decoder {
 public:
  using Options = ContextOptions;
  explicit ContextNetwork(const ContextOptions& options);
  const ContextOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  training::Loss loss(const training::TensorBatch& batch) override;

  /// u [B, T, E], given z [B, dim] and the vectors of the previous words [B, T, E]. Decoders that predict all
  /// words at once ignore these, and T is N.
  at::Tensor decode(const at::Tensor& z, const Sequences& previous) const;
  nn::DecoderStart start(const nn::DecoderMemory& memory) override;  // {z}
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

 private:
  /// Decoder inputs [B, T] int64 for the target words `ids`.
  at::Tensor decoder_inputs(const at::Tensor& z, const at::Tensor& ids);

  ContextOptions options_;
  std::shared_ptr<nn::RecurrentStack> encoder_;
  std::shared_ptr<ContextDecoder> decoder_;
};

}  // namespace sentencode::models
