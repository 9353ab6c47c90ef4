#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "sentencode/nn/sequences.h"
#include "sentencode/training/model.h"

namespace sentencode::models {

using nn::Sequences;

/// Distinct words, as a network sees them that makes their rows itself.
struct Words {
  at::Tensor vectors;     // [W, E]; of words without one what the vectors' policy says, else zero
  at::Tensor known;       // [W] bool: whether it is a vector of the word's own
  at::Tensor ids;         // [W] int64; of words without one that of the symbol for them, else -1
  at::Tensor characters;  // [W, C] int64, as `Alphabet` says; undefined where none were asked for
};

/// What a network asks for, beside words' vectors, to make their rows itself.
struct WordInputs {
  std::int64_t ids = 0;         // how many it knows; 0: it makes no rows, but takes the vectors
  std::int64_t characters = 0;  // of a word that it sees; 0: none
  std::string alphabet{};       // those that it tells apart
};

/// Rows that are trained, and what is added to the loss of each example besides.
struct Encoded {
  at::Tensor rows;       // [B, dim]
  at::Tensor penalty{};  // []; undefined for none
  at::Tensor figures{};  // [F, 2] what `head_figures` names; undefined for none
};

/// What makes one vector of those of a sentence's words. All that is not this is the same for every family:
/// where words' vectors come from, which sentences share a batch, how it is saved.
class SentenceNetwork : public training::Model {
 public:
  using Model::Model;

  virtual std::int64_t features() const = 0;  // E
  virtual std::int64_t dim() const = 0;
  /// -> [B, dim]. A sentence's row depends on nothing but the sentence.
  virtual at::Tensor encode(const Sequences& sentences) = 0;
  /// The same where a head learns from the rows. Of examples of several sentences, `sides`, all first ones
  /// come first, then all second ones.
  virtual Encoded encode_for_head(const Sequences& sentences, std::int64_t sides) {
    static_cast<void>(sides);
    return {encode(sentences)};
  }
  /// Names of the figures that `encode_for_head` returns; `figures` names those of the network's own loss.
  virtual std::vector<std::string> head_figures() const { return {}; }
  virtual WordInputs word_inputs() const { return {}; }
  /// The rows of words -> [W, F], of which the x [B, T, F] of sentences are made. A word's row depends on
  /// nothing but the word.
  virtual at::Tensor word_rows(const Words& words) { return words.vectors; }
  /// The vector behind a sentence's last word, [F]; undefined where sentences have no end.
  virtual at::Tensor end() const { return {}; }

  /// Its kind and options as JSON, of which `make_network` makes a network alike, with other weights: by the
  /// table of networks.h, if it is one of these.
  virtual std::string config() const;
};

}  // namespace sentencode::models
