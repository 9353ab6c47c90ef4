#include "sentencode/linear/average.h"

#include "saved_model.h"

namespace sentencode {

void Average::write(ModelContents&, const SaveOptions&) const {}

std::unique_ptr<Average> Average::load(const SavedModel& saved) {
  saved.finish_config();
  return std::make_unique<Average>(saved.words());
}

}  // namespace sentencode
