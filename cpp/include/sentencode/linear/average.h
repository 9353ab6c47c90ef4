#pragma once

#include <memory>
#include <string>

#include "sentencode/linear/linear_encoder.h"

namespace sentencode {

/// The mean of a sentence's weighted word vectors, divided by its norm if `normalize`; then the first
/// `truncate_dim` dimensions, if not 0. Needs no fit.
class Average final : public LinearEncoder {
 public:
  explicit Average(WeightedWords words, bool normalize = false, std::int64_t truncate_dim = 0);

  using LinearEncoder::encode;
  std::string kind() const override { return "Average"; }
  std::int64_t dim() const override { return truncate_dim_ > 0 ? truncate_dim_ : words().dim(); }
  bool normalize() const { return normalize_; }
  std::int64_t truncate_dim() const { return truncate_dim_; }
  void encode(const Sentences& sentences, MatrixView out) const override;
  bool side_by_side() const override { return true; }

  bool fitted() const override { return true; }
  void partial_fit(const Sentences&) override {}
  void solve() override {}

  static std::unique_ptr<Average> load(const SavedModel& saved);

 private:
  void write(ModelContents& contents, const SaveOptions& options) const override;

  bool normalize_;
  std::int64_t truncate_dim_;
};

}  // namespace sentencode
