#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sentencode/enum_names.h"
#include "sentencode/linear/common_directions.h"

namespace sentencode {

/// Unsupervised smooth inverse frequency (Ethayarajh 2018): word vectors weighted by a / (a / 2 + p(w)), see
/// usif_weights; common direction m is removed with the factor lambda_m = s_m^2 / sum_i s_i^2.
class Usif final : public CommonDirections {
 public:
  enum class Normalize {
    dimension,  // divide every dimension by its norm over the words of the sentence, as the public code does
    none,       // as in the paper
  };
  explicit Usif(WeightedWords words, std::int64_t components = 5, Normalize normalize = Normalize::dimension)
      : CommonDirections(std::move(words), components), normalize_(normalize) {}

  std::string kind() const override { return "USIF"; }
  Normalize normalize() const { return normalize_; }
  static std::unique_ptr<Usif> load(const SavedModel& saved);

 private:
  void means(const Sentences& sentences, MatrixView out) const override;
  bool same_means(const CommonDirections& other) const override;
  Vector factors_of(const Vector& singular_values) const override;
  void write(ModelContents& contents, const SaveOptions& options) const override;

  Normalize normalize_;
};

constexpr EnumNames<2> enum_names(Usif::Normalize) { return {"normalize", {"dimension", "none"}}; }

}  // namespace sentencode
