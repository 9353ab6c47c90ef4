#include "sentencode/linear/average.h"

#include "saved_model.h"
#include "sentencode/error.h"

namespace sentencode {

Average::Average(WeightedWords words, bool normalize, std::int64_t truncate_dim)
    : LinearEncoder(std::move(words)), normalize_(normalize), truncate_dim_(truncate_dim) {
  ST_CHECK(truncate_dim >= 0 && truncate_dim <= this->words().dim(), InvalidInput,
           "Average: truncate_dim must be 0 to ", this->words().dim(), ", got ", truncate_dim);
}

void Average::encode(const Sentences& sentences, MatrixView out) const {
  if (truncate_dim_ == 0) return words().means(sentences, out, normalize_);
  check_out(sentences, out);
  Matrix all(sentences.size(), words().dim());
  words().means(sentences, MatrixView(all.data(), all.rows(), all.cols(), Eigen::OuterStride<>(all.cols())),
                normalize_);
  out = all.leftCols(truncate_dim_);
}

void Average::write(ModelContents& contents, const SaveOptions&) const {
  // Otherwise early versions can read the file.
  if (normalize_) contents.config["normalize"] = true;
  if (truncate_dim_ > 0) contents.config["truncate_dim"] = truncate_dim_;
}

std::unique_ptr<Average> Average::load(const SavedModel& saved) {
  const bool normalize = saved.config.contains("normalize") && saved.flag_option("normalize");
  const std::int64_t truncate_dim =
      saved.config.contains("truncate_dim") ? saved.size_option("truncate_dim", 1) : 0;
  saved.finish_config();
  return std::make_unique<Average>(saved.words(), normalize, truncate_dim);
}

}  // namespace sentencode
