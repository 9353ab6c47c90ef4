#include "linear/sweep.h"

#include <algorithm>
#include <utility>

#include "linear/laes_shared.h"
#include "sentencode/linear/batch_autoencoder.h"

namespace sentencode {
namespace {

constexpr std::int64_t kSweepBytes = 64 << 20;  // of x_t or A x_t in memory at once

}  // namespace

std::int64_t sweep_tokens(const Autoencoder& m) {
  const std::int64_t row = std::max(m.hidden(), m.dim()) * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(kSweepBytes / row, 1, kTokens);
}

Sweep::Sweep(const Autoencoder& parameters, const RaggedIds& ids, const WeightedWords& words, Reading reading)
    : m_(parameters),
      words_(words),
      rows_(ids, 0, ids.size(), reading, AlignedSentences::End::first),
      tokens_(sweep_tokens(parameters)),
      sums_(Matrix::Zero(ids.size(), m_.dim())) {
  if (m_.u.size() > 0) {
    const AlignedSentences from_last(ids, 0, ids.size(), reading, AlignedSentences::End::last);
    projected_ = BatchAutoencoder(m_).states(from_last, words, &sums_);
  } else {
    for_positions(rows_, tokens_, [&](std::int64_t first, std::int64_t last) {
      const Matrix x = rows_.words(words_, m_.centre, first, last, &sums_);
      if (first == 0 && last == rows_.longest()) inputs_ = Recursion(m_).inputs(x);
    });
  }
}

Matrix Sweep::states(std::int64_t p) const {
  if (m_.u.size() > 0) return projected_.leftCols(p);
  const Recursion recursion(m_, p);
  Matrix h = Matrix::Zero(rows_.size(), p), next(rows_.size_at(0), p);
  for_positions(rows_, tokens_, [&](std::int64_t first, std::int64_t last) {
    Matrix computed;
    if (inputs_.size() == 0) computed = recursion.inputs(rows_.words(words_, m_.centre, first, last));
    const Matrix& inputs = inputs_.size() == 0 ? computed : inputs_;
    for (std::int64_t t = first, at = 0; t < last; ++t) {
      const std::int64_t n = rows_.size_at(t);  // h of shorter sentences does not change
      next.topRows(n) = inputs.block(at, 0, n, p);
      if (t > 0) recursion.encode_step(h.topRows(n), next.topRows(n));
      h.topRows(n) = next.topRows(n);
      at += n;
    }
  });
  return h;
}

Matrix Sweep::reconstructed_sums(const Matrix& h) const {
  const Recursion recursion(m_, h.cols());
  Matrix sum = h, next(rows_.size_at(1), h.cols());
  for (std::int64_t k = 1; k < rows_.longest(); ++k) {
    const std::int64_t n = rows_.size_at(k);
    next.topRows(n) = h.topRows(n);
    recursion.decode_step(sum.topRows(n), next.topRows(n));
    sum.topRows(n) = next.topRows(n);
  }
  Matrix out = Matrix::Zero(h.rows(), m_.dim());
  recursion.add_words(1.0F, sum, out);
  return out;
}

}  // namespace sentencode
