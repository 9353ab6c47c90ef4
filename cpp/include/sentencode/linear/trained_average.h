#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sentencode/linear/linear_encoder.h"
#include "sentencode/linear/table_head.h"

namespace sentencode {

/// The mean of a sentence's word vectors, which were trained with a head: see TableTrainer.
class TrainedAverage final : public LinearEncoder {
 public:
  /// The head's dimension must be that of the vectors.
  TrainedAverage(WeightedWords words, TableHead head, bool normalize = false);

  using LinearEncoder::encode;
  std::string kind() const override { return "TrainedAverage"; }
  std::int64_t dim() const override { return words().dim(); }
  bool normalize() const { return normalize_; }
  const TableHead& head() const { return head_; }
  void encode(const Sentences& sentences, MatrixView out) const override {
    words().means(sentences, out, normalize_);
  }
  bool side_by_side() const override { return true; }

  bool fitted() const override { return true; }
  void partial_fit(const Sentences&) override;
  void solve() override {}

  static std::unique_ptr<TrainedAverage> load(const SavedModel& saved);

 private:
  void write(ModelContents& contents, const SaveOptions& options) const override;

  TableHead head_;
  bool normalize_;
};

}  // namespace sentencode
