#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "sentencode/models/options.h"
#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/decoding.h"
#include "sentencode/nn/word_writer.h"

namespace sentencode::models {

/// Of the words that an autoencoder reads and writes; `end` is what the encoder sees, too.
using AutoencoderOptions = nn::WordWriterOptions;

template <OptionsOf<AutoencoderOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("words", of.words);
  visit("features", of.features);
  visit("begin", of.begin);
  visit("end", of.end);
  visit("trainable_words", of.trainable_words);
  visit("label_smoothing", of.label_smoothing);
  visit("sampled_words", of.sampled_words);
}

/// A sentence's vector is what a decoder needs to write the sentence again: log p(w_1 .. w_N, end | z) is
/// what is learnt. Batches have one field: words, then the end.
class Autoencoder : public SentenceNetwork, public nn::Decoder {
 public:
  std::int64_t dim() const override { return dim_; }
  std::int64_t features() const override { return writer_.options().features; }
  /// A table that is trained has the rows of its words; others keep their vectors.
  WordInputs word_inputs() const override;
  at::Tensor word_rows(const Words& words) override;
  at::Tensor end() const override { return writer_.end(); }
  const nn::WordWriter& writer() const { return writer_; }
  nn::WordWriter& writer() { return writer_; }

  /// States that tell the next words, where those before them, y [B, T, E], are known: teacher forcing.
  /// z [B, dim] -> [B, T, D]
  virtual at::Tensor decode(const at::Tensor& z, const Sequences& y) = 0;

  training::Loss loss(const training::TensorBatch& batch) final;

  /// Writes sentences: what the decoder is given is {z [B, dim]}.
  nn::Decoded reconstruct(const at::Tensor& z, const nn::DecodingOptions& options,
                          const nn::BeamOptions& beam);

 protected:
  /// `states` is the width of what decode returns.
  Autoencoder(const std::string& name, const AutoencoderOptions& words, std::int64_t dim,
              std::int64_t states);

  /// What the encoder sees of sentences in training. Users' encode() is without noise.
  virtual Sequences corrupted(const Sequences& sentences) { return sentences; }

  void check_code(const at::Tensor& z) const;  // [B, dim]

 private:
  std::int64_t dim_;
  nn::WordWriter writer_;
};

/// One whose decoder attends to rows of its code.
class LatentAutoencoder : public Autoencoder {
 public:
  /// What each word of sentences attends to in their own z when it is written: Figure 2 of paper 000.
  /// -> [B, heads, T, rows], rows being the mean, then the maximum
  virtual at::Tensor attention(const Sequences& sentences) = 0;

 protected:
  using Autoencoder::Autoencoder;
};

}  // namespace sentencode::models
