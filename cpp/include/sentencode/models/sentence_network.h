#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "sentencode/nn/sequences.h"
#include "sentencode/training/model.h"

namespace sentencode::models {

using nn::Sequences;

/// Inputs of `word_rows`: W distinct words.
struct Words {
  at::Tensor vectors;     // [W, E]; of words without a vector the policy's substitute, or zero
  at::Tensor known;       // [W] bool: whether the word itself has a vector
  at::Tensor ids;         // [W] int64; of words without an id that of the unknown symbol, or -1
  at::Tensor characters;  // [W, C] int64, as in `Alphabet`; undefined if the network reads none
};

/// What `word_rows` reads besides word vectors.
struct WordInputs {
  std::int64_t ids = 0;         // number of word ids; 0: no word_rows, the network reads word vectors
  std::int64_t characters = 0;  // characters of a word; 0: none
  std::string alphabet{};       // characters that have ids
};

/// Embeddings in training, and what is added to the loss of each example.
struct Encoded {
  at::Tensor rows;       // [B, dim]
  at::Tensor penalty{};  // []; undefined for none
  at::Tensor figures{};  // [F, 2], named by `head_figures`; undefined for none
};

/// A network turns the word vectors of a sentence into one embedding. Everything else is shared by all
/// families: where word vectors come from, which sentences share a batch, how it is saved.
class SentenceNetwork : public training::Model {
 public:
  using Model::Model;

  virtual std::int64_t features() const = 0;  // E
  virtual std::int64_t dim() const = 0;
  /// -> [B, dim]. An embedding depends on its sentence alone.
  virtual at::Tensor encode(const Sequences& sentences) = 0;
  /// The same in the training of a head. Batches of examples with several sentences, `sides`, hold all first
  /// sentences, then all second ones.
  virtual Encoded encode_for_head(const Sequences& sentences, std::int64_t sides) {
    static_cast<void>(sides);
    return {encode(sentences)};
  }
  /// Names of the figures of `encode_for_head`; `figures` names those of the network's own loss.
  virtual std::vector<std::string> head_figures() const { return {}; }
  virtual WordInputs word_inputs() const { return {}; }
  /// The word vectors that encode() reads, [W, F]. Each depends on its word alone.
  virtual at::Tensor word_rows(const Words& words) { return words.vectors; }
  /// The vector after a sentence's last word, [F]; undefined if sentences have no end.
  virtual at::Tensor end() const { return {}; }

  /// Kind and options as JSON, for `make_network`.
  virtual std::string config() const;
};

}  // namespace sentencode::models
