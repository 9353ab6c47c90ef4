#include "sentencode/linear/batch_autoencoder.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace sentencode {

struct BatchAutoencoder::Lazy {
  std::mutex mutex;  // guards the members below; nothing interruptible under it
  std::shared_ptr<const Matrix> powers, sums;
  Matrix power;
};

BatchAutoencoder::BatchAutoencoder(Autoencoder parameters)
    : parameters_(std::move(parameters)), lazy_(std::make_shared<Lazy>()) {}

std::int64_t BatchAutoencoder::turn() const {
  const std::int64_t one = parameters_.hidden() * parameters_.dim() * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(kTableBytes / one, 1, std::max<std::int64_t>(1, parameters_.longest));
}

std::shared_ptr<const Matrix> BatchAutoencoder::table(Table which, std::int64_t positions) const {
  const std::int64_t p = parameters_.hidden(), n = parameters_.dim();
  const std::lock_guard lock(lazy_->mutex);
  std::shared_ptr<const Matrix>& there = which == Table::powers ? lazy_->powers : lazy_->sums;
  const std::int64_t before = there ? there->rows() / p : 0;
  if (positions <= before) return there;
  positions = std::min(std::max(positions, 2 * before), turn());
  Matrix table(positions * p, n);
  const MatrixD b = parameters_.b.cast<double>();
  MatrixD r = parameters_.a.cast<double>(), sum = r;  // [p, n]
  for (std::int64_t k = 0; k < positions; ++k) {
    if (k > 0) {
      r = product(b, r);  // R_k = B R_(k-1)
      sum += r;
    }
    table.middleRows(k * p, p) = (which == Table::powers ? r : sum).cast<float>();
  }
  there = std::make_shared<const Matrix>(std::move(table));
  return there;
}

const Matrix& BatchAutoencoder::power() const {
  const std::lock_guard lock(lazy_->mutex);
  if (lazy_->power.size() == 0) {
    MatrixD square = parameters_.b.cast<double>();
    MatrixD result = MatrixD::Identity(square.rows(), square.cols());
    for (std::int64_t k = turn(); k > 0; k /= 2) {
      if (k % 2 == 1) result = product(result, square);
      if (k > 1) square = product(square, square);
    }
    lazy_->power = result.cast<float>();
  }
  return lazy_->power;
}

Matrix BatchAutoencoder::states(const AlignedSentences& sentences, const WeightedWords& words,
                                Matrix* sum) const {
  const Autoencoder& m = parameters_;
  const std::int64_t p = m.hidden(), n = m.dim();
  const bool by_u = m.u.size() > 0;
  const std::int64_t k_most = by_u ? m.longest : turn();  // K
  const auto powers = by_u ? nullptr : table(Table::powers, std::min(k_most, sentences.longest()));
  Matrix h = Matrix::Zero(sentences.size(), p);
  for (std::int64_t c = (sentences.longest() + k_most - 1) / k_most; c-- > 0;) {
    const std::int64_t first = c * k_most, last = std::min(first + k_most, sentences.longest());
    const std::int64_t begun = sentences.size_at(last);  // rows with states of earlier words
    if (begun > 0 && !by_u)
      h.topRows(begun) = product<float>(h.topRows(begun), power(), Op::none, Op::transpose);
    const Matrix x = sentences.words(words, m.centre, first, last, sum);
    for (std::int64_t k = first, at = 0; k < last && !(by_u && c > 0); ++k) {
      const std::int64_t rows = sentences.size_at(k);
      const ConstRef<float> r = by_u ? ConstRef<float>(m.u.middleCols(k * n, n))
                                     : ConstRef<float>(powers->middleRows((k - first) * p, p));
      gemm(Op::none, Op::transpose, 1.0F, x.middleRows(at, rows), r, 1.0F,
           h.topRows(rows));  // h += x_(l-k) R_k^T
      at += rows;
    }
  }
  return h;
}

Matrix BatchAutoencoder::reconstructed_sums(const AlignedSentences& sentences, Matrix h) const {
  const std::int64_t p = parameters_.hidden(), n = parameters_.dim(), turn = this->turn();
  const auto table = this->table(Table::sums, std::min(turn, sentences.longest()));
  Matrix out = Matrix::Zero(sentences.size(), n);
  const auto add = [&](std::int64_t row, std::int64_t rows, std::int64_t l) {  // M_l^T h
    gemm(Op::none, Op::none, 1.0F, h.middleRows(row, rows), table->middleRows((l - 1) * p, p), 1.0F,
         out.middleRows(row, rows));
  };
  for (std::int64_t done = 0; done < sentences.longest(); done += turn) {
    const std::int64_t remaining = sentences.size_at(done + turn);
    if (remaining > 0) {
      add(0, remaining, turn);
      h.topRows(remaining) = product<float>(h.topRows(remaining), power());  // h_(t-K) = (B^T)^K h_t
    }
    for (std::int64_t row = remaining, next; row < sentences.size_at(done);
         row = next) {  // ranges of equal length
      const std::int64_t l = sentences.length(row) - done;
      next = sentences.size_at(done + l - 1);
      add(row, next - row, l);
    }
  }
  return out;
}

}  // namespace sentencode
