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

struct ModelContents;  // of a file that is being written
struct SavedModel;     // a file that was opened

/// An encoder over weighted words. Encoding is safe from several threads, also while another one fits: it
/// uses the parameters that were there when it began.
class LinearEncoder : public Encoder {
 public:
  using Encoder::encode;
  const WeightedWords& words() const { return words_; }

  /// Whether there are parameters to encode with.
  virtual bool fitted() const = 0;
  /// Adds sentences to the statistics. Safe from several threads.
  virtual void partial_fit(const Sentences& sentences) = 0;
  /// Makes parameters of the statistics, if any were added since the last time. InvalidInput when there is
  /// nothing to fit to.
  virtual void solve() = 0;

  void save(const std::string& path) const final { save(path, SaveOptions{}); }
  /// One safetensors file, written atomically.
  void save(const std::string& path, const SaveOptions& options) const;
  /// The same file's bytes, without vectors: for pickles, and for workers that send back what they counted.
  std::string to_bytes(bool statistics) const;
  static std::unique_ptr<LinearEncoder> from_bytes(std::string bytes,
                                                   std::shared_ptr<const WordVectors> vectors);

  /// Text that is saved along and means nothing here: the settings of whoever wraps this encoder.
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
