#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/encoder.h"
#include "sentencode/models/sentence_network.h"
#include "sentencode/snapshot.h"
#include "sentencode/text/string_table.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode::models {

class Head;

struct NeuralOptions {
  std::int64_t max_words = 512;      // read of a sentence
  std::int64_t batch_tokens = 4096;  // encoded at a time, padding and ends included
};

/// The word ids of networks that have a table of their own.
struct WordIds {
  StringTable words{};        // ids from 0
  std::int64_t unknown = -1;  // the id of all other words; -1: none
};

/// Whether a sentence is read with the word: it has a vector, an id, or a vector made of its subwords. Words
/// without a vector have one if the vectors' policy gives them a substitute.
bool reads_word(const WeightedWords& words, const WordIds& ids, std::string_view word);
/// What `SentenceNetwork::word_rows` reads of words, on the CPU.
Words read_words(const WeightedWords& words, const WordIds& ids, const WordInputs& inputs,
                 std::span<const std::string_view> of);

/// An encoder of any neural family: word vectors, weighted, and a network. It reads every word that
/// `reads_word` says, also words that the network was not trained with.
class NeuralEncoder : public Encoder {
 public:
  using Encoder::encode;

  /// `kind` is the name of the family.
  NeuralEncoder(std::string kind, WeightedWords words, std::shared_ptr<SentenceNetwork> network,
                const NeuralOptions& options = {}, WordIds ids = {}, std::shared_ptr<Head> head = nullptr);
  ~NeuralEncoder() override;

  std::string kind() const override { return kind_; }
  std::int64_t dim() const override;
  /// Encodes as in evaluation mode, whatever the network's mode, which stays unchanged. It reads the current
  /// weights: no other thread may train this network meanwhile.
  void encode(const Sentences& sentences, MatrixView out) const override;
  void save(const std::string& path) const override { save(path, SaveOptions{}); }
  void save(const std::string& path, const SaveOptions& options) const;
  static std::unique_ptr<NeuralEncoder> load(const std::string& path, const LoadOptions& options = {});

  /// Sentences as the network reads them: at most max_words words each.
  struct Read {
    RaggedIds words;  // of each sentence, rows of `rows`
    at::Tensor rows;  // [W, F]; undefined if the network reads word vectors: `words` are then their ids
  };
  Read read(const Sentences& sentences) const;
  /// The same for tokens; `positions` gets the position of each word in its sentence.
  Read read_tokens(const Sentences& tokens, std::vector<std::int64_t>& positions) const;
  std::int64_t width(const Read& read) const {
    return read.rows.defined() ? read.rows.size(1) : words_.dim();
  }
  void row(const Read& read, std::int32_t id, float* x) const;  // x [width]
  /// Indices of sentences, sorted by length; the order of equally long ones is kept.
  static std::vector<std::int64_t> longest_first(const Read& read);
  /// Inputs of the network: sentences, the longest first, each followed by `end` [F] if that is defined.
  Sequences gather(const Read& read, std::span<const std::int64_t> sentences,
                   const at::Tensor& end = {}) const;

  const WeightedWords& words() const { return words_; }
  const std::shared_ptr<SentenceNetwork>& network() const { return network_; }
  /// The trained head, such as a classifier; may be null.
  const std::shared_ptr<Head>& head() const { return head_; }
  const NeuralOptions& options() const { return options_; }
  const WordIds& ids() const { return ids_; }

  /// Text that is saved with the encoder and not interpreted: settings of the caller.
  std::string params() const { return *params_.get(); }
  void set_params(std::string params) { params_.set(std::move(params)); }

 private:
  std::string kind_;
  WeightedWords words_;
  std::shared_ptr<SentenceNetwork> network_;
  NeuralOptions options_;
  WordIds ids_;
  std::shared_ptr<Head> head_;
  Snapshot<std::string> params_;
};

/// Lets `load_encoder` read files of these kinds. C++ programs call it once; the Python package does.
void register_encoders();

}  // namespace sentencode::models
