#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::nn {
class WordEmbedding;
class WordSoftmax;
}  // namespace sentencode::nn

namespace sentencode::models {

struct AutoencoderOptions {
  std::int64_t words = 0;          // V: rows of the table, symbols among them
  std::int64_t features = 0;       // E
  std::int64_t begin = 0;          // the symbol before the first word that is written
  std::int64_t end = 1;            // that after the last one; the encoder sees it, too
  bool trainable_words = false;    // whether the table is trained
  double label_smoothing = 0;      // in training
  std::int64_t sampled_words = 0;  // that targets are told from in training, on average; 0: all
  void check() const;              // InvalidInput that names the member
};

/// A sentence's vector is what a decoder needs to write the sentence again: log p(w_1 .. w_N, end | z) is
/// what is learnt. Batches have one field: words, then the end.
class Autoencoder : public SentenceNetwork, public nn::Decoder {
 public:
  std::int64_t dim() const override { return dim_; }
  std::int64_t features() const override { return options_.features; }
  at::Tensor end() const override;
  const AutoencoderOptions& options() const { return options_; }
  nn::WordEmbedding& table() { return *table_; }

  /// States that tell the next words, where those before them, y [B, T, E], are known: teacher forcing.
  /// z [B, dim] -> [B, T, D]
  virtual at::Tensor decode(const at::Tensor& z, const Sequences& y) = 0;

  training::Loss loss(const training::TensorBatch& batch) final;

  /// What the decoder of these sentences is told: begin, then all words but the last.
  Sequences words_before(const Sequences& sentences) const;

  /// Writes sentences: memory is {z [B, dim]}.
  nn::Decoded reconstruct(const at::Tensor& z, const nn::DecodingOptions& options,
                          const nn::BeamOptions& beam);

  /// How frequent words are, [V] floating or int64: what sampled words are drawn by. Ids that are ranks by
  /// default.
  void set_word_counts(const at::Tensor& counts);

 protected:
  /// `states` is the width of what decode returns.
  Autoencoder(const std::string& name, const AutoencoderOptions& options, std::int64_t dim,
              std::int64_t states);

  /// What the encoder sees of sentences in training. Users' encode() is without noise.
  virtual Sequences corrupted(const Sequences& sentences) { return sentences; }

  void check_code(const at::Tensor& z) const;         // [B, dim]
  at::Tensor vectors(const at::Tensor& ids) const;    // [...] -> [..., E]
  at::Tensor logits(const at::Tensor& states) const;  // [..., D] -> [..., V]

 private:
  AutoencoderOptions options_;
  std::int64_t dim_;
  std::shared_ptr<nn::WordEmbedding> table_;
  std::shared_ptr<nn::WordSoftmax> softmax_;
  at::Tensor expected_;  // [V] how often a word is expected among the sampled ones
};

}  // namespace sentencode::models
