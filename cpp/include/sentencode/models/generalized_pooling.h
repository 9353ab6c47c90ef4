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

/// What makes one vector of a sentence's states: paper 002's multi-head attention with vectors or scalars as
/// weights, or one of the poolings that it compares itself with.
enum class SentencePooling { generalized, scalar, mean, max, mean_max, last };

void parse(std::string_view name, SentencePooling& choice);  // InvalidInput names the choices
std::string_view name_of(SentencePooling choice);

struct GeneralizedPoolingOptions {
  std::int64_t words = 0;     // ids, if their vectors are trained; the last is that of all other words
  std::int64_t features = 0;  // E, of a word's vector
  bool trainable_words = false;
  // Words' characters.
  bool characters = true;
  std::string alphabet =
      "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
  std::int64_t max_characters = 20;  // of a word that are seen
  std::int64_t character_features = 15;
  std::int64_t character_filters = 100;
  std::vector<std::int64_t> character_windows = {1, 3, 5};
  // The encoder.
  std::int64_t hidden = 600;  // d, units of each direction
  std::int64_t layers = 3;    // L
  nn::Shortcuts shortcuts = nn::Shortcuts::input;
  double dropout = 0.5;     // on words' rows
  bool boundaries = false;  // whether symbols stand before a sentence's first word and behind its last one
  bool orthogonal = false;  // where the LSTMs' weights begin: see nn::RecurrentOptions
  // The pooling.
  SentencePooling pooling = SentencePooling::generalized;
  std::int64_t heads = 5;               // I
  std::int64_t attention_hidden = 600;  // d_a
  nn::Activation attention_activation = nn::Activation::relu;
  nn::Penalty penalty = nn::Penalty::parameters;
  double mu = 0.01;             // weight of the penalty
  double margin = 1;            // its lambda
  bool batch_distance = false;  // whether distances are means over a batch, as in the public code

  static constexpr std::string_view kLater[] = {"boundaries", "orthogonal"};  // files may lack them
};

template <OptionsOf<GeneralizedPoolingOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("words", of.words);
  visit("features", of.features);
  visit("trainable_words", of.trainable_words);
  visit("characters", of.characters);
  visit("alphabet", of.alphabet);
  visit("max_characters", of.max_characters);
  visit("character_features", of.character_features);
  visit("character_filters", of.character_filters);
  visit("character_windows", of.character_windows);
  visit("hidden", of.hidden);
  visit("layers", of.layers);
  visit("shortcuts", of.shortcuts);
  visit("dropout", of.dropout);
  visit("boundaries", of.boundaries);
  visit("orthogonal", of.orthogonal);
  visit("pooling", of.pooling);
  visit("heads", of.heads);
  visit("attention_hidden", of.attention_hidden);
  visit("attention_activation", of.attention_activation);
  visit("penalty", of.penalty);
  visit("mu", of.mu);
  visit("margin", of.margin);
  visit("batch_distance", of.batch_distance);
}

/// The encoder of paper 002 (Chen et al. 2018): words' vectors and their characters, stacked bidirectional
/// LSTMs with shortcuts, and generalized pooling. What is learnt a head says: a classifier of sentences or of
/// pairs in the paper.
///
/// Read in paper 002: words' vectors beside maxima of character convolutions; eq. 1 to 3, where every layer
/// above the first sees words and the layer below; eq. 5 and 6; the penalties of eq. 7 to 9.
/// Read in its public code: words' vectors stay as they are given; dropout falls on words' rows, once for all
/// layers that see them, and within the classifier; `boundaries`, whose rows it draws by chance and leaves so
/// (here they are learnt), and `orthogonal`.
/// Inferred: of a word's characters the first 20 are seen; filters have biases.
class GeneralizedPoolingNetwork : public SentenceNetwork {
 public:
  using Options = GeneralizedPoolingOptions;
  explicit GeneralizedPoolingNetwork(const GeneralizedPoolingOptions& options);
  const GeneralizedPoolingOptions& options() const { return options_; }

  std::int64_t features() const override { return options_.features; }
  std::int64_t dim() const override;
  WordInputs word_inputs() const override;
  at::Tensor word_rows(const Words& words) override;  // [W, E + characters']
  at::Tensor encode(const Sequences& sentences) override;
  Encoded encode_for_head(const Sequences& sentences, std::int64_t sides) override;
  /// Its heads' penalty, without mu, and the share of pairs of heads that it moves.
  std::vector<std::string> head_figures() const override;
  /// InvalidInput: without a head nothing is learnt.
  training::Loss loss(const training::TensorBatch& batch) override;

  /// The weight of each word in each number of a sentence's vector, [B, I, T, D]; of scalar attention and of
  /// "mean" [B, I, T, 1]. Of "max" and "last" they are 1 where a number comes from. With boundaries T counts
  /// both symbols.
  at::Tensor attention(const Sequences& sentences) const;
  void load_words(const at::Tensor& rows);  // [words, E], if they are trained

 private:
  Sequences bounded(const Sequences& sentences) const;  // with their symbols, if they have any
  bool attends() const;
  bool penalised() const;
  struct States {
    at::Tensor h;     // [B, T, D]
    at::Tensor last;  // [B, D], of each direction
  };
  // Of sentences that are `bounded`.
  States states(const Sequences& sentences) const;
  at::Tensor pooled(const States& states, const Sequences& sentences) const;  // [B, dim]

  GeneralizedPoolingOptions options_;
  at::Tensor boundaries_;  // [2, E + characters'], undefined for none
  std::shared_ptr<nn::WordEmbedding> table_;
  std::shared_ptr<nn::CharacterCnn> characters_;
  std::shared_ptr<nn::RecurrentStack> encoder_;
  std::shared_ptr<nn::AttentionPooling> pooling_;
};

}  // namespace sentencode::models
