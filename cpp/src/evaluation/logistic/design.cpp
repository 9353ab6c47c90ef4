#include "evaluation/logistic/design.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <utility>

#include "evaluation/logistic/parallel.h"

namespace sentencode::logistic {

using at::Tensor;

namespace {

constexpr std::int64_t kPieces = 16;  // maximum of pieces, and so of threads

}  // namespace

void check_finite(const Tensor& of_features) {
  TORCH_CHECK_VALUE(of_features.isfinite().all().item<bool>(),
                    "features must be finite, and there are rows with NaN, infinity or very large numbers");
}

Tensor uncentred(const Tensor& intercepts, const Tensor& weights, const Tensor& mean) {
  return intercepts - at::matmul(weights.to(at::kDouble), mean.to(at::kDouble));
}

Design::Design(Features features, std::int64_t max_bytes) : features_(std::move(features)) {
  const std::int64_t few = std::clamp<std::int64_t>(kNumbersOfBlock / columns(), 1, kRowsOfBlock);
  const Tensor guess = features_.block(0, std::min(rows(), few)).mean(0);  // [d]
  Tensor sum, squares;
  // One pass: squared distances from the mean of the first rows, minus the square of its error.
  const auto moments = [&](at::ScalarType type) {
    sum = at::zeros({kPieces, features_.dim()}, guess.options().dtype(at::kDouble));
    squares = sum.clone();
    for_blocks(few, [&](std::int64_t piece, std::int64_t, const Tensor& block) {
      Tensor off = (block - guess).to(type);
      sum[piece] += off.sum(0);
      squares[piece] += off.square_().sum(0);
    });
  };
  moments(at::kFloat);
  if (!squares.isfinite().all().item<bool>()) moments(at::kDouble);  // squares overflow float32
  sum = sum.sum(0) / static_cast<double>(rows());
  check_finite(sum);
  mean_ = (guess + sum).to(at::kFloat);
  deviation_ =
      (squares.sum(0) / static_cast<double>(rows()) - sum.square()).clamp_min_(0).sqrt_().to(at::kFloat);
  // Columns that are constant up to rounding, or negligible compared with the others, are not scaled up.
  const Tensor least = 1e-6 * at::maximum(mean_.abs(), deviation_.max());
  deviation_ = at::where(deviation_ <= least, deviation_.max(), deviation_);
  deviation_.masked_fill_(deviation_ == 0, 1);
  if (rows() * columns() * 4 > max_bytes) return;
  Tensor whole = at::empty({rows(), columns()}, mean_.options());
  for_blocks(few, [&](std::int64_t, std::int64_t begin, const Tensor& block) {
    augment(block, whole.slice(0, begin, begin + block.size(0)));
  });
  whole_ = std::move(whole);
}

std::int64_t Design::pieces(std::int64_t outputs) const {
  const double numbers = static_cast<double>(outputs * columns());
  const double most = std::min<double>(kPieces, (1 << 26) / numbers);  // each has its own sums
  if (!whole_.defined() || !whole_.is_cpu()) return 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(rows()) * numbers / kSmall),
                                  1, std::max<std::int64_t>(2, static_cast<std::int64_t>(most)));
}

void Design::sweep(std::int64_t outputs, const Body& body) const {
  if (!whole_.defined()) {
    for (std::int64_t begin = 0; begin < rows(); begin += kRowsOfBlock) {
      body(0, begin, augmented(features_.block(begin, std::min(rows(), begin + kRowsOfBlock))));
    }
    return;
  }
  if (!whole_.is_cpu()) return body(0, 0, whole_);
  const std::int64_t count = pieces(outputs),
                     few = std::max<std::int64_t>(64, kNumbersOfBlock / (columns() + outputs));
  in_parallel(count, true, [&](std::int64_t piece) {
    const std::int64_t last = rows() * (piece + 1) / count;
    for (std::int64_t begin = rows() * piece / count; begin < last; begin += few) {
      body(piece, begin, whole_.slice(0, begin, std::min(last, begin + few)));
    }
  });
}

Tensor Design::rows_at(const Tensor& index) const {
  if (whole_.defined()) return index.numel() == rows() ? whole_ : whole_.index_select(0, index);
  return augmented(features_.rows_at(index));
}

Design Design::part(const Tensor& index) const {
  Design chosen = *this;
  chosen.whole_ = rows_at(index);
  return chosen;
}

Tensor Design::augmented(const Tensor& block) const {
  Tensor out = at::empty({block.size(0), columns()}, block.options());
  augment(block, out);
  return out;
}

void Design::augment(const Tensor& block, Tensor out) const {
  Tensor columns = out.slice(1, 0, -1);
  at::sub_out(columns, block, mean_).div_(deviation_);
  out.select(1, -1).fill_(1);
}

void Design::for_blocks(std::int64_t size, const Body& body) const {
  const bool worth = features_.device().is_cpu() && static_cast<double>(rows() * columns()) > kSmall;
  in_parallel(kPieces, worth, [&](std::int64_t piece) {
    const std::int64_t last = rows() * (piece + 1) / kPieces;
    for (std::int64_t begin = rows() * piece / kPieces; begin < last; begin += size) {
      body(piece, begin, features_.block(begin, std::min(last, begin + size)));
    }
  });
}

}  // namespace sentencode::logistic
