#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "sentencode/encoder.h"
#include "sentencode/snapshot.h"
#include "sentencode/text/string_table.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode::models {

class Head;
class SentenceNetwork;

struct NeuralOptions {
  std::int64_t max_words = 512;      // of a sentence that are read
  std::int64_t batch_tokens = 4096;  // that are encoded at a time, padding and ends among them
};

/// The ids of words, for networks that ask for them.
struct WordIds {
  StringTable words{};        // the first ids, from 0 on
  std::int64_t unknown = -1;  // that of all other words
};

/// An encoder of any neural family: words' vectors, each times its word's weight, and a network. Every word
/// that has a vector is known, whether the network was trained with it or not. Words without one are left out
/// or kept, as the vectors' policy says; those that have an id are kept.
class NeuralEncoder : public Encoder {
 public:
  using Encoder::encode;

  /// `kind` is what the family is called.
  NeuralEncoder(std::string kind, WeightedWords words, std::shared_ptr<SentenceNetwork> network,
                const NeuralOptions& options = {}, WordIds ids = {}, std::shared_ptr<Head> head = nullptr);
  ~NeuralEncoder() override;

  std::string kind() const override { return kind_; }
  std::int64_t dim() const override;
  /// As if the network were not in training, whatever its mode, which stays as it is. With the weights as
  /// they are: not while another thread trains this very network.
  void encode(const Sentences& sentences, MatrixView out) const override;
  void save(const std::string& path) const override { save(path, SaveOptions{}); }
  void save(const std::string& path, const SaveOptions& options) const;
  static std::unique_ptr<NeuralEncoder> load(const std::string& path, const LoadOptions& options = {});

  /// What the network reads of sentences: the rows of their words [W, F], and which of them each has.
  struct Read {
    RaggedIds words;
    at::Tensor rows;  // undefined where they are the vectors: `words` are then ids of these
  };
  /// As `encode` does it: sentences end after max_words that are known.
  Read read(const Sentences& sentences) const;
  std::int64_t width(const Read& of) const { return of.rows.defined() ? of.rows.size(1) : words_.dim(); }
  void row(const Read& of, std::int32_t id, float* x) const;  // x [width]

  const WeightedWords& words() const { return words_; }
  const std::shared_ptr<SentenceNetwork>& network() const { return network_; }
  /// What was learnt from the rows: a classifier, say. Null where there is none.
  const std::shared_ptr<Head>& head() const { return head_; }
  const NeuralOptions& options() const { return options_; }
  const WordIds& ids() const { return ids_; }

  /// Text that is saved along and means nothing here: the settings of whoever wraps this encoder.
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

/// Files of these kinds are then read by `load_encoder`. C++ programs call it once; Python has done so.
void register_encoders();

}  // namespace sentencode::models
