#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "sentencode/models/options.h"
#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/word_writer.h"

namespace sentencode::models {

template <OptionsOf<nn::WordWriterOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("words", of.words);
  visit("features", of.features);
  visit("begin", of.begin);
  visit("end", of.end);
  visit("trainable_words", of.trainable_words);
  visit("label_smoothing", of.label_smoothing);
  visit("sampled_words", of.sampled_words);
}

/// A sentence's vector is what helps to write words: of the sentence itself, or of those around it.
class WritingNetwork : public SentenceNetwork {
 public:
  std::int64_t dim() const override { return dim_; }
  std::int64_t features() const override { return writer_.options().features; }
  /// A table that is trained has the rows of its words; others keep their vectors.
  WordInputs word_inputs() const override;
  at::Tensor word_rows(const Words& words) override;
  const nn::WordWriter& writer() const { return writer_; }
  nn::WordWriter& writer() { return writer_; }

 protected:
  /// `states` is the width of what words are told from.
  WritingNetwork(const std::string& name, const nn::WordWriterOptions& words, std::int64_t dim,
                 std::int64_t states);

  Sequences words_of(const training::TokenTensors& field) const;  // their vectors, by the table
  void check_fields(const training::TensorBatch& batch, std::size_t fields, const char* what) const;
  void check_code(const at::Tensor& z) const;  // [B, dim]

 private:
  std::int64_t dim_;
  nn::WordWriter writer_;
};

}  // namespace sentencode::models
