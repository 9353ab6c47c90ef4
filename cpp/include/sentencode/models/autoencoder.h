#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/models/writing_network.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::models {

/// Of the words that an autoencoder reads and writes; `end` is what the encoder sees, too.
using AutoencoderOptions = nn::WordWriterOptions;

/// A sentence's vector is what a decoder needs to write the sentence again: log p(w_1 .. w_N, end | z) is
/// what is learnt. Batches have one field: words, then the end.
class Autoencoder : public WritingNetwork, public nn::Decoder {
 public:
  at::Tensor end() const override { return writer().end(); }

  /// States that tell the next words, where those before them, y [B, T, E], are known: teacher forcing.
  /// z [B, dim] -> [B, T, D]
  virtual at::Tensor decode(const at::Tensor& z, const Sequences& y) = 0;

  training::Loss loss(const training::TensorBatch& batch) final;

  /// Writes sentences: what the decoder is given is {z [B, dim]}.
  nn::Decoded reconstruct(const at::Tensor& z, const nn::DecodingOptions& options,
                          const nn::BeamOptions& beam);

 protected:
  using WritingNetwork::WritingNetwork;  // `states` is the width of what decode returns

  /// What the encoder sees of sentences in training. Users' encode() is without noise.
  virtual Sequences corrupted(const Sequences& sentences) { return sentences; }
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
