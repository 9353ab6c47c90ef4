#pragma once

#include <ATen/core/Tensor.h>

#include "sentencode/models/writing_network.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::models {

/// Options of the words that an autoencoder reads and generates. The encoder reads `end`, too.
using AutoencoderOptions = nn::WordWriterOptions;

/// The sentence embedding z is trained to reconstruct the sentence: the loss is -log p(w_1 .. w_N, end | z).
/// Batches have one field: words, then the end.
class Autoencoder : public WritingNetwork, public nn::Decoder {
 public:
  at::Tensor end() const override { return writer().end(); }

  /// Decoder states [B, T, D] of teacher forcing: z [B, dim], y [B, T, E] the vectors of the previous words.
  virtual at::Tensor decode(const at::Tensor& z, const Sequences& y) = 0;

  training::Loss loss(const training::TensorBatch& batch) final;

  /// Decodes {z [B, dim]}.
  nn::Decoded reconstruct(const at::Tensor& z, const nn::DecodingOptions& options,
                          const nn::BeamOptions& beam);

 protected:
  using WritingNetwork::WritingNetwork;  // `states` is the width D of decode()

  /// The input of the encoder in training; encode() adds no noise.
  virtual Sequences corrupted(const Sequences& sentences) { return sentences; }
};

/// An autoencoder whose decoder attends to the pooled vectors in z.
class LatentAutoencoder : public Autoencoder {
 public:
  /// Attention weights of each generated word over the mean, then the maximum (Figure 2 of paper 000).
  /// -> [B, heads, T, rows]
  virtual at::Tensor attention(const Sequences& sentences) = 0;

 protected:
  using Autoencoder::Autoencoder;
};

}  // namespace sentencode::models
