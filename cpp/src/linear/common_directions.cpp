#include "sentencode/linear/common_directions.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr std::int64_t kBlock = 4096;      // sentences per product
constexpr std::int64_t kFew = 8;           // up to so many directions are removed without a product
constexpr std::int64_t kPiece = 1024;      // sentences per piece of work then
constexpr std::int64_t kCached = 256;      // sentences whose embeddings fit a core's cache
constexpr double kSquareRounding = 1e-12;  // relative rounding error of a squared norm

/// Sets an embedding to zero if only rounding errors are left. projections: e . c_m before they were removed;
/// removed: f_m (2 - f_m).
template <typename Row, typename Projections>
void drop_rounding(Row&& row, const Projections& projections, const VectorD& removed) {
  const double left = squared_length(row);
  const double before = left + projections.template cast<double>().cwiseAbs2().dot(removed.transpose());
  if (left <= kSquareRounding * before) row.setZero();
}

}  // namespace

CommonDirections::CommonDirections(WeightedWords words, std::int64_t components)
    : LinearEncoder(std::move(words)),
      components_(components),
      statistics_(SecondMoment(this->words().dim())) {
  ST_CHECK(components >= 0, InvalidInput, "components must not be negative, got ", components);
}

bool CommonDirections::side_by_side() const { return components_ <= kFew; }

void CommonDirections::encode(const Sentences& sentences, MatrixView out) const {
  check_out(sentences, out);
  const auto fitted = checked();
  const Matrix& c = fitted->directions;  // [m, d]
  const VectorD removed = (fitted->factors.array() * (2 - fitted->factors.array())).cast<double>();
  const auto rows_of = [&](std::int64_t begin, std::int64_t rows) {
    return MatrixView(out.row(begin).data(), rows, dim(), Eigen::OuterStride<>(out.outerStride()));
  };
  if (components_ <= kFew) {
    // Each row while it is in the cache, on the same thread. For so few directions a product is slower,
    // because BLAS's threads keep spinning on the processors that look words up.
    parallel_for(0, sentences.size(), kPiece, [&](std::int64_t first, std::int64_t last) {
      Eigen::RowVectorXf projections(c.rows()), scaled(c.rows());
      for (std::int64_t begin = first; begin < last; begin += kCached) {
        MatrixView e = rows_of(begin, std::min(kCached, last - begin));
        means(sentences.slice(begin, begin + e.rows()), e);  // nested: on this thread
        for (std::int64_t i = 0; i < e.rows() && components_ > 0; ++i) {
          projections.noalias() = e.row(i) * c.transpose();  // e . c_m
          scaled = projections.cwiseProduct(fitted->factors.transpose());
          e.row(i).noalias() -= scaled * c;  // e -= sum_m f_m (e . c_m) c_m
          drop_rounding(e.row(i), projections, removed);
        }
        check_finite(e);
      }
    });
    return;
  }
  for (std::int64_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::int64_t rows = std::min(kBlock, sentences.size() - begin);
    MatrixView e = rows_of(begin, rows);
    means(sentences.slice(begin, begin + rows), e);
    Matrix projections(rows, c.rows());
    gemm(Op::none, Op::transpose, 1.0F, e, c, 0.0F, projections);  // e . c_m
    const Matrix scaled = projections * fitted->factors.asDiagonal();
    gemm(Op::none, Op::none, -1.0F, scaled, c, 1.0F, e);  // e -= sum_m f_m (e . c_m) c_m
    parallel_for(0, rows, kBlock / 4, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) drop_rounding(e.row(i), projections.row(i), removed);
      check_finite(e.middleRows(first, last - first));
    });
  }
}

void CommonDirections::partial_fit(const Sentences& sentences) {
  if (sentences.size() == 0) return;
  SecondMoment added(dim());  // merged at the end, so that an interrupt adds nothing
  for (std::int64_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, sentences.size());
    Matrix e(end - begin, dim());
    means(sentences.slice(begin, end),
          MatrixView(e.data(), e.rows(), e.cols(), Eigen::OuterStride<>(e.cols())));
    added.add(e);
  }
  const std::lock_guard lock(mutex_);
  ST_CHECK(statistics_, InvalidInput, kind(),
           ": cannot continue fitting: it was saved without its statistics");
  statistics_->merge(added);
  stale_ = true;
  ++changes_;
}

void CommonDirections::merge(const CommonDirections& other) {
  ST_CHECK(kind() == other.kind() && words().same_as(other.words()), InvalidInput, "cannot merge ", kind(),
           " and ", other.kind(), " unless both have the same words, weights and tokenizer");
  ST_CHECK(same_means(other), InvalidInput, "cannot merge two ", kind(), " with different normalize");
  const std::optional<SecondMoment> theirs = other.statistics();
  const std::lock_guard lock(mutex_);
  ST_CHECK(statistics_ && theirs, InvalidInput, kind(), ": cannot merge without statistics");
  statistics_->merge(*theirs);
  stale_ = true;
  ++changes_;
}

void CommonDirections::solve() {
  std::optional<SecondMoment> statistics;
  std::uint64_t changes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (fitted_ && !stale_) return;
    ST_CHECK(stale_, NotFitted, kind(), " is not fitted yet: call fit or partial_fit first");
    statistics = statistics_;
    changes = changes_;
  }
  ST_CHECK(statistics->count() > 0, InvalidInput, kind(),
           ": there is nothing to fit to: no sentence had a known word");
  auto fitted = std::make_shared<const Fitted>(leading(statistics->directions(), components_));
  const std::lock_guard lock(mutex_);
  if (changes <= solved_) return;  // another thread was faster
  fitted_ = std::move(fitted);
  solved_ = changes;
  stale_ = changes_ != changes;
}

CommonDirections::Fitted CommonDirections::leading(const Spectrum<double>& spectrum,
                                                   std::int64_t count) const {
  const std::int64_t rank = (spectrum.values.array() > kSquareRounding * spectrum.values.maxCoeff()).count();
  const std::int64_t nonzero = std::min(count, rank);
  Fitted result{Matrix::Zero(count, dim()), Vector::Zero(count), {}};
  result.directions.topRows(nonzero) = spectrum.vectors.topRows(nonzero).cast<float>();
  result.singular_values.head(nonzero) = spectrum.values.head(nonzero).cwiseSqrt().cast<float>();
  result.factors = factors_of(result.singular_values);
  return result;
}

std::shared_ptr<const CommonDirections::Fitted> CommonDirections::fitted_ptr() const {
  const std::lock_guard lock(mutex_);
  return fitted_;
}

std::shared_ptr<const CommonDirections::Fitted> CommonDirections::checked() const {
  auto fitted = fitted_ptr();
  ST_CHECK(fitted, NotFitted, kind(), " is not fitted yet: call fit first");
  return fitted;
}

Matrix CommonDirections::directions() const { return checked()->directions; }
Vector CommonDirections::singular_values() const { return checked()->singular_values; }
Vector CommonDirections::factors() const { return checked()->factors; }

std::optional<SecondMoment> CommonDirections::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void CommonDirections::set_statistics(SecondMoment statistics) {
  ST_CHECK(statistics.dim() == dim(), InvalidInput, kind(), ": statistics of ", statistics.dim(),
           " dimensions, expected ", dim());
  const std::lock_guard lock(mutex_);
  statistics_ = std::move(statistics);
  stale_ = true;
  ++changes_;
}

Curve CommonDirections::select(const Sentences& first, const Sentences& second, std::span<const double> gold,
                               std::int64_t largest) const {
  check_pairs(first, second, gold);
  ST_CHECK(largest >= 0, InvalidInput, "select: the number of components must not be negative, got ",
           largest);
  Fitted fitted;
  if (const auto current = fitted_ptr(); current != nullptr && current->directions.rows() >= largest) {
    fitted = *current;
  } else {
    const auto all = statistics();
    ST_CHECK(all && all->count() > 0, NotFitted, kind(), ": selecting among ", largest,
             " components needs a fitted encoder with its statistics");
    fitted = leading(all->directions(), largest);
  }

  MatrixD c = fitted.directions.topRows(largest).cast<double>();  // [M, d]
  // In float they are orthogonal up to 1e-7, which the differences of squares below would amplify to 1e-3.
  // One Newton-Schulz step squares the error.
  c = (1.5 * c - 0.5 * product(product(c, c, Op::none, Op::transpose), c)).eval();
  std::vector<VectorD> factors;  // f (2 - f), by number of components
  for (std::int64_t m = 0; m <= largest; ++m) {
    const VectorD f = factors_of(fitted.singular_values.head(m)).template cast<double>();
    factors.push_back(f.array() * (2 - f.array()));
  }
  MatrixD cosines(largest + 1, first.size());
  for (std::int64_t begin = 0; begin < first.size(); begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, first.size());
    std::array<MatrixD, 2> e, a;  // means [rows, d] and their projections [rows, M]
    for (const int side : {0, 1}) {
      Matrix rows(end - begin, dim());
      means((side == 0 ? first : second).slice(begin, end),
            MatrixView(rows.data(), rows.rows(), rows.cols(), Eigen::OuterStride<>(rows.cols())));
      e[side] = rows.cast<double>();
      a[side] = product(e[side], c, Op::none, Op::transpose);
    }
    parallel_for(0, end - begin, 64, [&](std::int64_t row, std::int64_t last) {
      for (; row < last; ++row) {
        // The dot product of two embeddings without their first m directions.
        const auto dot = [&](int x, int y, std::int64_t m) {
          const double product = e[x].row(row).dot(e[y].row(row));
          const auto both = a[x].row(row).head(m).cwiseProduct(a[y].row(row).head(m));
          const double left = product - both.dot(factors[static_cast<std::size_t>(m)].transpose());
          return x == y && left <= kSquareRounding * product ? 0.0 : left;
        };
        for (std::int64_t m = 0; m <= largest; ++m) {
          cosines(m, begin + row) = cosine(dot(0, 1, m), dot(0, 0, m), dot(1, 1, m));
        }
      }
    });
  }

  Curve curve{kind(), std::vector<std::int64_t>(static_cast<std::size_t>(largest + 1)), {}};
  std::iota(curve.settings.begin(), curve.settings.end(), 0);
  correlate(curve, cosines, gold);
  return curve;
}

void CommonDirections::take_from(const CommonDirections& other) {
  if (auto statistics = other.statistics()) {
    set_statistics(std::move(*statistics));
    return solve();
  }
  const auto theirs = other.checked();
  ST_CHECK(components_ <= theirs->directions.rows(), InvalidInput, kind(),
           ": saved without statistics, with ", theirs->directions.rows(), " components; cannot make ",
           components_, " of them");
  Fitted fitted{theirs->directions.topRows(components_), theirs->singular_values.head(components_), {}};
  fitted.factors = factors_of(fitted.singular_values);
  const std::lock_guard lock(mutex_);
  statistics_.reset();
  fitted_ = std::make_shared<const Fitted>(std::move(fitted));
}

void CommonDirections::write_fitted(ModelContents& contents, const SaveOptions&) const {
  // The statistics are small, so they are always saved.
  const std::lock_guard lock(mutex_);
  ST_CHECK(fitted_ || stale_, NotFitted, kind(), " is not fitted yet: there is nothing to save");
  contents.config["components"] = components_;
  if (fitted_ && !stale_) {  // otherwise they are computed after loading
    contents.add("components", fitted_->directions);
    contents.add("singular_values", fitted_->singular_values);
  }
  if (statistics_) {
    contents.add("statistics.moment", statistics_->sum());
    contents.add("statistics.count", std::vector<std::int64_t>{statistics_->count()});
  }
}

void CommonDirections::read_fitted(const SavedModel& saved) {
  std::shared_ptr<Fitted> fitted;
  if (saved.file->has("components") || !saved.file->has("statistics.moment")) {
    fitted = std::make_shared<Fitted>();
    fitted->directions = saved.matrix("components", components_, dim());
    const auto values = saved.values<float>("singular_values", {components_});
    fitted->singular_values = Eigen::Map<const Vector>(values.data(), components_);
    fitted->factors = factors_of(fitted->singular_values);
  }
  constexpr std::int64_t kMost = 4096;  // directions that are computed, unless there are more dimensions
  saved.check(fitted != nullptr || components_ <= std::max(dim(), kMost), "config: components is ",
              components_, "; vectors of ", dim(), " dimensions allow at most ", std::max(dim(), kMost));
  std::optional<SecondMoment> statistics;
  if (saved.file->has("statistics.moment")) {
    const auto sum = saved.values<double>("statistics.moment", {dim(), dim()});
    const auto count = saved.values<std::int64_t>("statistics.count", {1});
    saved.valid([&] { statistics.emplace(Eigen::Map<const MatrixD>(sum.data(), dim(), dim()), count[0]); });
  }
  const std::lock_guard lock(mutex_);
  statistics_ = std::move(statistics);
  stale_ = fitted == nullptr;
  changes_ += stale_;
  fitted_ = std::move(fitted);
}

}  // namespace sentencode
