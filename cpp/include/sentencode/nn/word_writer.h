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
  std::int64_t words = 0;        // V, including symbols
  std::int64_t features = 0;     // E
  std::int64_t begin = 0;        // symbol before the first word
  std::int64_t end = 1;          // symbol after the last word
  bool trainable_words = false;  // whether the word embeddings are trained
  bool tied = false;           // whether the softmax uses the word embeddings; states then have E dimensions
  bool word_bias = true;       // whether the softmax has a bias
  double label_smoothing = 0;  // in training
  std::int64_t sampled_words = 0;  // words of the sampled softmax in training, on average; 0: full softmax

  void check() const;  // InvalidInput that names the member
};

struct WrittenLoss {
  at::Tensor sum;      // [] sum of -log p(word), with a gradient; in training with label smoothing
  at::Tensor correct;  // [] words with the largest logit; undefined for a sampled softmax
};

/// The input and output layers of models that generate words: word embeddings, symbols before the first and
/// after the last word, and the softmax that predicts the next word from a state.
class WordWriter {
 public:
  /// Registers its tensors with the owner: "table", "softmax" and, for a sampled softmax, "expected".
  /// `states`: dimensions of a decoder state.
  WordWriter(torch::nn::Module& owner, const WordWriterOptions& options, std::int64_t states);

  const WordWriterOptions& options() const { return options_; }
  WordEmbedding& table() const { return *table_; }
  at::Tensor vectors(const at::Tensor& ids) const;    // [...] -> [..., E]
  at::Tensor end() const;                             // [E]
  at::Tensor logits(const at::Tensor& states) const;  // [..., D] -> [..., V]

  /// Decoder inputs for teacher forcing: the begin symbol, then all words but the last.
  at::Tensor before(const at::Tensor& ids) const;                                 // [B, T] int64
  Sequences before(const Sequences& sentences) const;                             // of word embeddings
  at::Tensor first(std::int64_t sentences, const at::TensorOptions& like) const;  // [B] int64, begin symbols

  /// Decoder inputs for scheduled sampling: with `probability`, an input is a word that the decoder samples,
  /// otherwise that of teacher forcing. Without gradient: a pass over the returned words follows, which has
  /// one.
  at::Tensor drawn_before(Decoder& decoder, const DecoderMemory& source, const at::Tensor& ids,
                          double probability) const;  // [B, T] int64

  /// states [B, T, D], ids [B, T] int64, mask [B, T] bool
  WrittenLoss loss(const at::Tensor& states, const at::Tensor& ids, const at::Tensor& mask,
                   bool training) const;

  /// Sets the frequencies for sampling words, [V] floating point or int64. By default ids are ranks (Zipf's
  /// law).
  void set_word_counts(const at::Tensor& counts);

 private:
  at::Tensor tied() const;  // the word embeddings if the softmax is tied, otherwise undefined

  WordWriterOptions options_;
  std::shared_ptr<WordEmbedding> table_;
  std::shared_ptr<WordSoftmax> softmax_;
  at::Tensor expected_;  // [V] probability that a sample contains each word
};

}  // namespace sentencode::nn
