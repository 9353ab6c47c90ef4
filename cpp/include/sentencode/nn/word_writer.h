#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "sentencode/nn/decoding.h"
#include "sentencode/nn/sequences.h"

namespace torch::nn {
class Module;
}

namespace sentencode::nn {

class WordEmbedding;
class WordSoftmax;

struct WordWriterOptions {
  std::int64_t words = 0;          // V: rows of the table, symbols among them
  std::int64_t features = 0;       // E
  std::int64_t begin = 0;          // the symbol before the first word that is written
  std::int64_t end = 1;            // that after the last one
  bool trainable_words = false;    // whether the table is trained
  bool tied = false;               // whether the softmax' matrix is the table; states are then E wide
  bool word_bias = true;           // whether the softmax adds a number to each word
  double label_smoothing = 0;      // in training
  std::int64_t sampled_words = 0;  // that targets are told from in training, on average; 0: all

  void check() const;  // InvalidInput that names the member
};

/// -log p of words that were to be written.
struct WrittenLoss {
  at::Tensor sum;      // [] with a graph; smoothed in training if it is to be
  at::Tensor correct;  // [] how many of them were held for the most likely; undefined where words are sampled
};

/// What every model that writes words has: their table, the symbols before the first and after the last one,
/// and the softmax that tells the next one from a state.
class WordWriter {
 public:
  /// Its tensors are registered as the owner's: "table", "softmax" and, where words are sampled, "expected".
  WordWriter(torch::nn::Module& owner, const WordWriterOptions& options, std::int64_t states);

  const WordWriterOptions& options() const { return options_; }
  WordEmbedding& table() const { return *table_; }
  at::Tensor vectors(const at::Tensor& ids) const;    // [...] -> [..., E]
  at::Tensor end() const;                             // [E]
  at::Tensor logits(const at::Tensor& states) const;  // [..., D] -> [..., V]

  /// Teacher forcing, what is told to whom writes these words: begin, then all of them but the last.
  at::Tensor before(const at::Tensor& ids) const;                                 // [B, T] int64
  Sequences before(const Sequences& sentences) const;                             // of their vectors
  at::Tensor first(std::int64_t sentences, const at::TensorOptions& like) const;  // [B] int64, begin

  /// Its alternative: in the place of a word before, by chance `share`, the word that the decoder itself has
  /// drawn there, one after the other and without a gradient. 1 is always sampling. One pass over all words
  /// follows, which has the gradient.
  at::Tensor drawn_before(Decoder& decoder, const DecoderMemory& memory, const at::Tensor& ids,
                          double share) const;  // [B, T] int64

  /// states [B, T, D], ids [B, T] int64, mask [B, T] bool
  WrittenLoss loss(const at::Tensor& states, const at::Tensor& ids, const at::Tensor& mask,
                   bool training) const;

  /// How frequent words are, [V] floating or int64: what sampled words are drawn by. Ids that are ranks by
  /// default.
  void set_word_counts(const at::Tensor& counts);

 private:
  at::Tensor tied() const;  // the table where the softmax has no matrix of its own

  WordWriterOptions options_;
  std::shared_ptr<WordEmbedding> table_;
  std::shared_ptr<WordSoftmax> softmax_;
  at::Tensor expected_;  // [V] how often a word is expected among the sampled ones
};

}  // namespace sentencode::nn
