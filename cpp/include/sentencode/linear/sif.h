#pragma once

#include <memory>
#include <string>

#include "sentencode/linear/common_directions.h"

namespace sentencode {

/// Smooth inverse frequency (Arora, Liang and Ma 2017; paper 004, section III): the mean of word vectors
/// weighted by a / (a + p(w)), see sif_weights, minus its projection on the leading directions.
class Sif final : public CommonDirections {
 public:
  explicit Sif(WeightedWords words, std::int64_t components = 1)
      : CommonDirections(std::move(words), components) {}

  std::string kind() const override { return "SIF"; }
  /// The same with another number of components, from the same statistics or, if smaller, directions.
  std::unique_ptr<Sif> with_components(std::int64_t components) const;
  static std::unique_ptr<Sif> load(const SavedModel& saved);

 private:
  void means(const Sentences& sentences, MatrixView out) const override { words().means(sentences, out); }
  Vector factors_of(const Vector& singular_values) const override {
    return Vector::Ones(singular_values.size());
  }
  void write(ModelContents& contents, const SaveOptions& options) const override;
};

}  // namespace sentencode
