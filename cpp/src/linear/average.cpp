#include "sentencode/linear/average.h"

#include "saved_model.h"

namespace sentencode {

void Average::write(ModelContents& contents, const SaveOptions&) const {
  if (normalize_) contents.config["normalize"] = true;  // otherwise early versions can read the file
}

std::unique_ptr<Average> Average::load(const SavedModel& saved) {
  const bool normalize = saved.config.contains("normalize") && saved.flag_option("normalize");
  saved.finish_config();
  return std::make_unique<Average>(saved.words(), normalize);
}

}  // namespace sentencode
