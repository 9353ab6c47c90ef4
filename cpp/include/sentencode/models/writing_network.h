#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sentencode/models/options.h"
#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/word_writer.h"

namespace sentencode::models {

template <OptionsOf<nn::WordWriterOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("words", of.words, at_least(1, "Number of ids of the words that are generated, symbols included."));
  visit("features", of.features, at_least(1, "Dimensions of a word vector."));
  visit("begin", of.begin, {"Id of the symbol before the first generated word."});
  visit("end", of.end, {"Id of the symbol after the last one."});
  visit("trainable_words", of.trainable_words, {"Trains the word table."});
  visit("label_smoothing", of.label_smoothing,
        probability("Label smoothing in training, as in `sentencode.nn.softmax_loss`."));
  visit("sampled_words", of.sampled_words,
        at_least(0, "Mean number of words that the softmax samples in training; 0: all."));
}

/// A network whose embeddings are trained to generate words: those of the sentence, or of its neighbours.
class WritingNetwork : public SentenceNetwork {
 public:
  std::int64_t dim() const override { return dim_; }
  std::int64_t features() const override { return writer_.options().features; }
  /// Words of a trained table have its rows, other words their vectors.
  WordInputs word_inputs() const override;
  at::Tensor word_rows(const Words& words) override;
  const nn::WordWriter& writer() const { return writer_; }
  nn::WordWriter& writer() { return writer_; }

 protected:
  /// `states`: width of the softmax inputs.
  WritingNetwork(const std::string& name, const nn::WordWriterOptions& words, std::int64_t dim,
                 std::int64_t states);

  Sequences words_of(const training::TokenTensors& field) const;  // rows of the table
  void check_fields(const training::TensorBatch& batch, std::size_t fields, const char* what) const;
  void check_code(const at::Tensor& z) const;  // [B, dim]
  /// The loss of all target sentences. That of each is a figure, given how many words it has.
  static training::Loss sum_of(const std::vector<nn::WrittenLoss>& losses,
                               const std::vector<std::int64_t>& words);

 private:
  std::int64_t dim_;
  nn::WordWriter writer_;
};

}  // namespace sentencode::models
