#include "sentencode/linear/sif.h"

#include <utility>

#include "saved_model.h"

namespace sentencode {

std::unique_ptr<Sif> Sif::with_components(std::int64_t components) const {
  auto result = std::make_unique<Sif>(words(), components);
  result->set_params(params());
  result->take_from(*this);
  return result;
}

void Sif::write(ModelContents& contents, const SaveOptions& options) const {
  write_fitted(contents, options);
}

std::unique_ptr<Sif> Sif::load(const SavedModel& saved) {
  const auto components = saved.size_option("components", 0);
  saved.finish_config();
  auto result = std::make_unique<Sif>(saved.words(), components);
  result->read_fitted(saved);
  return result;
}

}  // namespace sentencode
