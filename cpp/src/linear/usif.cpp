#include "sentencode/linear/usif.h"

#include <utility>

#include "saved_model.h"

namespace sentencode {

void Usif::means(const Sentences& sentences, MatrixView out) const {
  normalize_ == Normalize::dimension ? words().normalised_means(sentences, out)
                                     : words().means(sentences, out);
}

bool Usif::same_means(const CommonDirections& other) const {
  const auto* usif = dynamic_cast<const Usif*>(&other);
  return usif != nullptr && usif->normalize_ == normalize_;
}

Vector Usif::factors_of(const Vector& singular_values) const {
  const VectorD squares = singular_values.cast<double>().cwiseAbs2();
  const double sum = squares.sum();
  return sum > 0 ? Vector((squares / sum).cast<float>()) : Vector(Vector::Zero(squares.size()));
}

void Usif::write(ModelContents& contents, const SaveOptions& options) const {
  contents.config["normalize"] = name_of(normalize_);
  write_fitted(contents, options);
}

std::unique_ptr<Usif> Usif::load(const SavedModel& saved) {
  const auto components = saved.size_option("components", 0);
  const auto normalize = saved.enum_option<Normalize>();
  saved.finish_config();
  auto result = std::make_unique<Usif>(saved.words(), components, normalize);
  result->read_fitted(saved);
  return result;
}

}  // namespace sentencode
