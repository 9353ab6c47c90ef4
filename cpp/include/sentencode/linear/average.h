#pragma once

#include <memory>
#include <string>

#include "sentencode/linear/linear_encoder.h"

namespace sentencode {

/// The mean of a sentence's weighted word vectors, divided by its norm if `normalize`. Needs no fit.
class Average final : public LinearEncoder {
 public:
  explicit Average(WeightedWords words, bool normalize = false)
      : LinearEncoder(std::move(words)), normalize_(normalize) {}

  using LinearEncoder::encode;
  std::string kind() const override { return "Average"; }
  std::int64_t dim() const override { return words().dim(); }
  bool normalize() const { return normalize_; }
  void encode(const Sentences& sentences, MatrixView out) const override {
    words().means(sentences, out, normalize_);
  }
  bool side_by_side() const override { return true; }

  bool fitted() const override { return true; }
  void partial_fit(const Sentences&) override {}
  void solve() override {}

  static std::unique_ptr<Average> load(const SavedModel& saved);

 private:
  void write(ModelContents& contents, const SaveOptions& options) const override;

  bool normalize_;
};

}  // namespace sentencode
