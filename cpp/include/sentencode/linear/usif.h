#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sentencode/linear/common_directions.h"

namespace sentencode {

/// Unsupervised smooth inverse frequency (Ethayarajh 2018): rows weighted by a / (a / 2 + p(w)), see
/// usif_weights; direction m is taken away by the share lambda_m = s_m^2 / sum of all s^2 of the components.
class Usif final : public CommonDirections {
 public:
  enum class Normalize {
    dimension,  // as the public code does: every dimension by its norm over the words of the sentence
    none,       // as the paper writes it
  };
  explicit Usif(WeightedWords words, std::int64_t components = 5, Normalize normalize = Normalize::dimension)
      : CommonDirections(std::move(words), components), normalize_(normalize) {}

  std::string kind() const override { return "USIF"; }
  Normalize normalize() const { return normalize_; }
  static std::unique_ptr<Usif> load(const SavedModel& saved);

 private:
  void means(const Sentences& sentences, MatrixView out) const override;
  Vector factors_of(const Vector& singular_values) const override;
  void write(ModelContents& contents, const SaveOptions& options) const override;

  Normalize normalize_;
};

std::string_view name_of(Usif::Normalize normalize);
Usif::Normalize normalize_named(std::string_view name);

}  // namespace sentencode
