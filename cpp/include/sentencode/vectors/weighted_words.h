#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/sentences.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

/// What an encoder sees of a sentence: the rows of its known words, each times its word's weight. A
/// value that shares its table.
class WeightedWords {
 public:
  /// weights: one for each of vectors->rows(); empty: all 1. They must be finite.
  WeightedWords(std::shared_ptr<const WordVectors> vectors, Tokenizer tokenizer, std::vector<float> weights);

  std::int64_t dim() const { return vectors_->dim(); }
  const std::shared_ptr<const WordVectors>& vectors() const { return vectors_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::span<const float> weights() const { return weights_; }

  /// Ids of the words that have a row, be it made of their subwords; max_tokens 0: all of them.
  RaggedIds lookup(const Sentences& sentences, std::int64_t max_tokens = 0) const;

  /// The same for those who keep ids: without words whose rows had to be made.
  RaggedIds lookup_listed(const Sentences& sentences, std::int64_t max_tokens = 0) const;

  /// x [dim]: weight times row. With the lookup, where rows may have been made.
  void row(std::int32_t id, float* x) const { vectors_->sum({&id, 1}, weights_or_null(), x); }
  void row(const RaggedIds& of, std::int32_t id, float* x) const {
    vectors_->sum(of, {&id, 1}, weights_or_null(), x);
  }

  /// out [n, dim]: each sentence's mean of x over its known words; zero where it has none. On all threads.
  void means(const Sentences& sentences, MatrixView out) const;
  /// The mean of uSIF's public code: every dimension of the rows is first divided by its norm over the words
  /// of the sentence, then rows are weighted. A dimension that is zero in all words stays zero.
  void normalised_means(const Sentences& sentences, MatrixView out) const;

  /// Equal tokenizer, weights and table (by identity or content).
  bool same_as(const WeightedWords& other) const;

 private:
  const float* weights_or_null() const { return weights_.empty() ? nullptr : weights_.data(); }
  template <typename Block>
  void for_blocks(const Sentences& sentences, MatrixView out, const Block& block) const;

  std::shared_ptr<const WordVectors> vectors_;
  Tokenizer tokenizer_;
  std::vector<float> weights_;
};

}  // namespace sentencode
