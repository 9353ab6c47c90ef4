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

/// A tokenizer, word vectors and word weights: the input of encoders that average. Copies share the table.
class WeightedWords {
 public:
  /// weights [vectors->rows()]: Finite; empty: all 1.
  WeightedWords(std::shared_ptr<const WordVectors> vectors, Tokenizer tokenizer, std::vector<float> weights);

  std::int64_t dim() const { return vectors_->dim(); }
  const std::shared_ptr<const WordVectors>& vectors() const { return vectors_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::span<const float> weights() const { return weights_; }

  /// Ids of the words that have a row, including rows made of subwords; max_tokens 0: no limit.
  RaggedIds lookup(const Sentences& sentences, std::int64_t max_tokens = 0) const;

  /// The same without words whose rows are made of subwords, so that the ids stay valid.
  RaggedIds lookup_listed(const Sentences& sentences, std::int64_t max_tokens = 0) const;

  /// x [dim]: weight times row. `of`: the lookup of the id, if it may be of a row made of subwords.
  void row(std::int32_t id, float* x) const { vectors_->sum({&id, 1}, weights_or_null(), x); }
  void row(const RaggedIds& of, std::int32_t id, float* x) const {
    vectors_->sum(of, {&id, 1}, weights_or_null(), x);
  }

  /// out [n, dim]: mean of x over the known words of each sentence; zero without any. On all threads.
  /// unit_length: Divides each mean by its norm, unless that is zero. DivergedError if it is not finite.
  void means(const Sentences& sentences, MatrixView out, bool unit_length = false) const;
  /// The mean of uSIF's public code: every dimension is first divided by its norm over the words of the
  /// sentence (unless that is zero), then rows are weighted.
  void normalised_means(const Sentences& sentences, MatrixView out) const;

  /// Equal tokenizer, weights and table (by identity or content).
  bool same_as(const WeightedWords& other) const;

 private:
  const float* weights_or_null() const { return weights_.empty() ? nullptr : weights_.data(); }
  /// Replaces `ids` by those of sentences [begin, end), on the calling thread.
  void lookup(const Sentences& sentences, std::int64_t begin, std::int64_t end, Tokens& scratch,
              RaggedIds& ids) const;
  template <typename Block>
  void for_blocks(const Sentences& sentences, MatrixView out, const Block& block) const;

  std::shared_ptr<const WordVectors> vectors_;
  Tokenizer tokenizer_;
  std::vector<float> weights_;
  bool may_overflow_ = false;  // a mean of finite rows is finite unless weights are above 1
  // Rows by id of the tokenizer's vocabulary, so that no token is hashed; -1: skipped. Null if tokens are
  // looked up by their text.
  std::shared_ptr<const std::vector<std::int32_t>> row_of_token_;
};

}  // namespace sentencode
