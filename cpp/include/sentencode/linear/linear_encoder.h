#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "sentencode/dense.h"
#include "sentencode/encoder.h"
#include "sentencode/snapshot.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

struct ModelContents;
struct SavedModel;

/// An encoder of weighted word vectors. Encoding is thread-safe, also while another thread fits: it uses the
/// parameters from when it began.
class LinearEncoder : public Encoder {
 public:
  using Encoder::encode;
  const WeightedWords& words() const { return words_; }

  virtual bool fitted() const = 0;
  /// Adds sentences to the statistics. Thread-safe.
  virtual void partial_fit(const Sentences& sentences) = 0;
  /// Computes the parameters from the statistics, if these have changed. InvalidInput if they are empty.
  virtual void solve() = 0;

  void save(const std::string& path) const final { save(path, SaveOptions{}); }
  /// Writes a safetensors file atomically.
  void save(const std::string& path, const SaveOptions& options) const;
  /// The content of such a file without vectors, for pickles and for workers that return statistics.
  std::string to_bytes(bool statistics) const;
  static std::unique_ptr<LinearEncoder> from_bytes(std::string bytes,
                                                   std::shared_ptr<const WordVectors> vectors);

  /// A string for the wrapping layer that is saved with the encoder.
  std::string params() const { return *params_.get(); }
  void set_params(std::string params) { params_.set(std::move(params)); }

 protected:
  explicit LinearEncoder(WeightedWords words) : words_(std::move(words)) {}
  virtual void write(ModelContents& contents, const SaveOptions& options) const = 0;
  ModelContents contents(const SaveOptions& options, const std::string& path) const;
  void check_out(const Sentences& sentences, const MatrixView& out) const;

 private:
  WeightedWords words_;
  Snapshot<std::string> params_;
};

}  // namespace sentencode
