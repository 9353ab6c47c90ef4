#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/models/options.h"
#include "sentencode/models/sentence_network.h"

namespace sentencode::nn {
class CharacterCnn;
class WordEmbedding;
}  // namespace sentencode::nn

namespace sentencode::models {

/// How the states of a sentence become its embedding: by paper 002's multi-head attention with vectors or
/// scalars as weights, or by one of the poolings that it is compared with.
enum class SentencePooling { generalized, scalar, mean, max, mean_max, last };

constexpr EnumNames<6> enum_names(SentencePooling) {
  return {"pooling", {"generalized", "scalar", "mean", "max", "mean_max", "last"}};
}

struct GeneralizedPoolingOptions {
  std::int64_t words = 0;     // ids, the last one for unknown words
  std::int64_t features = 0;  // E
  bool trainable_words = false;
  bool characters = true;
  std::string alphabet =
      "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
  std::int64_t max_characters = 20;
  std::int64_t character_features = 15;
  std::int64_t character_filters = 33;
  std::vector<std::int64_t> character_windows = {1, 3, 5};
  std::int64_t hidden = 128;  // d
  std::int64_t layers = 1;    // L
  nn::Shortcuts shortcuts = nn::Shortcuts::input;
  double dropout = 0.1;
  bool boundaries = false;
  bool orthogonal = false;
  SentencePooling pooling = SentencePooling::mean_max;
  bool word_sum = false;
  std::int64_t heads = 3;               // I
  std::int64_t attention_hidden = 128;  // d_a
  nn::Activation attention_activation = nn::Activation::relu;
  nn::Penalty penalty = nn::Penalty::parameters;
  double mu = 0.01;
  double margin = 1;  // lambda
  bool batch_distance = false;

  static constexpr std::string_view kLater[] = {"boundaries", "orthogonal",
                                                "word_sum"};  // may be missing in files
};

template <OptionsOf<GeneralizedPoolingOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit(
      "words", of.words,
      at_least(1, "Number of word ids, if word vectors are trained; the last one is that of unknown words."));
  visit("features", of.features, at_least(1, "Dimensions of a word vector."));
  visit("trainable_words", of.trainable_words, {"Trains the word vectors."});
  visit("characters", of.characters, {"Adds features of a word's characters to its vector."});
  visit("alphabet", of.alphabet, {"The characters that have ids."});
  visit("max_characters", of.max_characters, at_least(1, "Characters of a word that are read."));
  visit("character_features", of.character_features, at_least(1, "Dimensions of a character's vector."));
  visit("character_filters", of.character_filters, at_least(1, "Character filters of each window width."));
  visit("character_windows", of.character_windows,
        at_least(1, "Window widths of the character filters, in characters."));
  visit("hidden", of.hidden, at_least(1, "Units of each direction of an LSTM."));
  visit("layers", of.layers, at_least(1, "Number of stacked bidirectional LSTMs."));
  visit("shortcuts", of.shortcuts,
        {"Inputs of a layer above the first in addition to the layer below: \"none\", the \"input\" of the "
         "stack (the "
         "paper's), or \"all\", the input and all layers below."});
  visit("dropout", of.dropout, dropout_probability("Dropout probability of the word vectors."));
  visit("boundaries", of.boundaries,
        {"Adds a symbol before the first and after the last word of a sentence, whose vectors are trained."});
  visit("orthogonal", of.orthogonal,
        {"Initialises the LSTMs' weights with orthogonal matrices: see `sentencode.nn.RecurrentStack`."});
  visit("pooling", of.pooling,
        {"\"generalized\": attention with vectors as weights; \"scalar\": with scalars (Lin et al. 2017); "
         "\"mean\", \"max\", \"mean_max\", or \"last\", the last state of each direction."});
  visit("word_sum", of.word_sum,
        {"Appends the sum of the word vectors, divided by the square root of their number, to the pooled "
         "states."});
  visit("heads", of.heads, at_least(1, "Heads of the attention."));
  visit("attention_hidden", of.attention_hidden,
        at_least(1, "Hidden units of the attention: of each head, or with scalars of all heads together."));
  visit("attention_activation", of.attention_activation,
        {"Activation of the attention's hidden layer: \"relu\" or \"tanh\"."});
  visit("penalty", of.penalty, {"What the penalty makes different between heads."});
  visit("mu", of.mu, at_least(0, "Weight of the penalty."));
  visit("margin", of.margin,
        at_least(0, "Squared distance from which heads have no penalty: the paper's lambda."));
  visit("batch_distance", of.batch_distance,
        {"Compares distances with the margin after averaging them over the batch, as in the public code."});
}

/// The encoder of paper 002 (Chen et al. 2018): word vectors and characters, stacked bidirectional LSTMs with
/// shortcuts, and generalized pooling. It is trained with a head; in the paper a classifier of sentences or
/// pairs.
///
/// In paper 002: word vectors concatenated with the maxima of character convolutions; eq. 1 to 3, where every
/// layer above the first reads the words and the layer below; eq. 5 and 6; the penalties of eq. 7 to 9.
/// In its public code: word vectors are not trained; dropout of the word vectors, with one mask for all
/// layers that read them, and within the classifier; `boundaries`, whose vectors stay random there and are
/// trained here; `orthogonal`. Our choice: the first 20 characters of a word are read; filters have biases.
class GeneralizedPoolingNetwork : public SentenceNetwork {
 public:
  using Options = GeneralizedPoolingOptions;
  explicit GeneralizedPoolingNetwork(const GeneralizedPoolingOptions& options);
  const GeneralizedPoolingOptions& options() const { return options_; }

  std::int64_t features() const override { return options_.features; }
  std::int64_t dim() const override;
  WordInputs word_inputs() const override;
  at::Tensor word_rows(const Words& words) override;  // [W, E + character features]
  at::Tensor encode(const Sequences& sentences) override;
  Encoded encode_for_head(const Sequences& sentences, std::int64_t sides) override;
  /// The penalty without mu, and the fraction of pairs of heads within the margin.
  std::vector<std::string> head_figures() const override;
  /// InvalidInput: this network is trained with a head.
  training::Loss loss(const training::TensorBatch& batch) override;

  /// Weights of the words in each dimension of the embedding, [B, I, T, D]; with scalar attention and "mean"
  /// [B, I, T, 1]. With "max" and "last" they are 1 for the word that a dimension comes from, else 0. With
  /// boundaries T counts both symbols.
  at::Tensor attention(const Sequences& sentences) const;
  void load_words(const at::Tensor& rows);  // [words, E]; InvalidInput if they are not trained

 private:
  Sequences bounded(const Sequences& sentences) const;  // with boundary symbols, if the network has them
  bool attends() const;
  bool penalised() const;
  struct States {
    at::Tensor h;     // [B, T, D]
    at::Tensor last;  // [B, D], the last state of each direction
  };
  // Their arguments are `bounded`.
  States states(const Sequences& sentences) const;
  at::Tensor pooled(const States& states, const Sequences& sentences) const;  // [B, I 2 d], for example
  at::Tensor embedding(const at::Tensor& pooled, const Sequences& sentences) const;  // [B, dim]; not bounded

  GeneralizedPoolingOptions options_;
  at::Tensor boundaries_;  // [2, E + character features]; undefined for none
  std::shared_ptr<nn::WordEmbedding> table_;
  std::shared_ptr<nn::CharacterCnn> characters_;
  std::shared_ptr<nn::RecurrentStack> encoder_;
  std::shared_ptr<nn::AttentionPooling> pooling_;
};

}  // namespace sentencode::models
