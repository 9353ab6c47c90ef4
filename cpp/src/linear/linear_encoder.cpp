#include "sentencode/linear/linear_encoder.h"

#include "sentencode/error.h"

namespace sentencode {

void LinearEncoder::check_out(const Sentences& sentences, const MatrixView& out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind(), ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
}

Sentences slice(const Sentences& sentences, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  if (!sentences.tokenised()) return {sentences.pieces.subspan(first, count), {}};
  return {sentences.pieces, sentences.offsets.subspan(first, count + 1)};
}

}  // namespace sentencode
