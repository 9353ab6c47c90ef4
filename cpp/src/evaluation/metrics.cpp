#include "sentencode/evaluation/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

void check_finite(std::span<const double> values, const char* name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    ST_CHECK(std::isfinite(values[i]), InvalidInput, name, " must be finite, but ", name, "[", i, "] is ",
             values[i]);
  }
}

void check_pairs(std::span<const double> x, std::span<const double> y) {
  ST_CHECK(x.size() == y.size(), InvalidInput, "x and y must be equally long, got ", x.size(), " and ",
           y.size());
  check_finite(x, "x");
  check_finite(y, "y");
}

/// The values minus their mean, normalised, so that dot products are Pearson's correlation. Empty if all are
/// equal.
std::vector<double> standardised(std::span<const double> values) {
  const auto [low, high] = std::ranges::minmax_element(values);
  if (low == values.end() || *low == *high) return {};
  // Scaled to at most 1 first, so that squares of extreme values do not overflow or underflow.
  const double scale = std::max(std::abs(*low), std::abs(*high));
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value /= scale;
  const double mean = std::accumulate(result.begin(), result.end(), 0.0) / static_cast<double>(result.size());
  double square = 0;
  for (double& value : result) {
    value -= mean;
    square += value * value;
  }
  for (double& value : result) value /= std::sqrt(square);
  return result;
}

std::vector<std::size_t> order_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

/// Indices of the distinct values in ascending order.
struct Levels {
  std::vector<std::uint32_t> of;  // index of each value
  std::size_t count = 0;
};

Levels levels_of(std::span<const double> values) {
  Levels levels{std::vector<std::uint32_t>(values.size()), 0};
  const std::vector<std::size_t> order = order_of(values);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || values[order[i]] != values[order[i - 1]]) ++levels.count;
    levels.of[order[i]] = static_cast<std::uint32_t>(levels.count - 1);
  }
  return levels;
}

/// SplitMix64, with another start for every sample.
class RandomIndices {
 public:
  RandomIndices(std::uint64_t seed, std::int64_t sample)
      : state_(mixed(seed) ^ mixed(~static_cast<std::uint64_t>(sample))) {}

  /// Uniform in 0 .. n - 1, up to a bias of n / 2^32, for n < 2^32.
  std::size_t below(std::size_t n) {
    state_ += 0x9e3779b97f4a7c15u;
    return ((mixed(state_) >> 32) * n) >> 32;
  }

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

double correlation_of_sums(double xy, double xx, double yy) {
  return xx > 0 && yy > 0 ? std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0) : kUndefined;
}

class PearsonSampler {
 public:
  PearsonSampler(std::span<const double> x, std::span<const double> y)
      : x_(standardised(x)), y_(standardised(y)) {}

  double operator()(RandomIndices random) const {
    if (x_.empty() || y_.empty()) return kUndefined;
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const std::size_t i = random.below(x_.size());
      x += x_[i];
      y += y_[i];
      xx += x_[i] * x_[i];
      yy += y_[i] * y_[i];
      xy += x_[i] * y_[i];
    }
    const double n = static_cast<double>(x_.size());
    return correlation_of_sums(xy - x * y / n, spread(xx, x, n), spread(yy, y, n));
  }

 private:
  // The sum of squares about the mean; 0 if it is only a rounding error, because all values are the same.
  static double spread(double squares, double sum, double n) {
    const double result = squares - sum * sum / n;
    return result > 1e-13 * squares ? result : 0;
  }

  std::vector<double> x_, y_;
};

/// Without sorting: the ranks follow from the counts of each distinct value in the sample.
class SpearmanSampler {
 public:
  SpearmanSampler(std::span<const double> x, std::span<const double> y)
      : x_(levels_of(x)), y_(levels_of(y)) {}

  double operator()(RandomIndices random) const {
    const std::size_t n = x_.of.size();
    std::vector<std::size_t> sample(n);
    std::vector<double> x(x_.count), y(y_.count);  // counts; then ranks minus the mean rank
    for (std::size_t& i : sample) {
      i = random.below(n);
      ++x[x_.of[i]];
      ++y[y_.of[i]];
    }
    const double xx = to_ranks(x, n), yy = to_ranks(y, n);
    double xy = 0;
    for (const std::size_t i : sample) xy += x[x_.of[i]] * y[y_.of[i]];
    return correlation_of_sums(xy, xx, yy);
  }

 private:
  /// Returns the sum of the squared ranks.
  static double to_ranks(std::vector<double>& counts, std::size_t n) {
    double below = 0, squares = 0;
    for (double& count : counts) {
      const double rank = below + 0.5 * (count - static_cast<double>(n));
      below += count;
      squares += count * rank * rank;
      count = rank;
    }
    return squares;
  }

  Levels x_, y_;
};

template <typename Sampler>
std::vector<double> samples_of(const Sampler& sampler, std::int64_t resamples, std::uint64_t seed) {
  std::vector<double> result(static_cast<std::size_t>(resamples));
  parallel_for(0, resamples, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      result[static_cast<std::size_t>(i)] = sampler(RandomIndices(seed, i));
  });
  return result;
}

}  // namespace

double pearson(std::span<const double> x, std::span<const double> y) {
  check_pairs(x, y);
  const std::vector<double> a = standardised(x), b = standardised(y);
  if (a.empty() || b.empty()) return kUndefined;
  return std::clamp(std::inner_product(a.begin(), a.end(), b.begin(), 0.0), -1.0, 1.0);
}

double spearman(std::span<const double> x, std::span<const double> y) {
  check_pairs(x, y);
  return pearson(ranks(x), ranks(y));
}

std::vector<double> ranks(std::span<const double> values) {
  check_finite(values, "values");
  const std::vector<std::size_t> order = order_of(values);
  std::vector<double> result(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) result[order[i]] = 0.5 * static_cast<double>(begin + 1 + end);
  }
  return result;
}

void cosine_of_pairs(const ConstRef<float>& a, const ConstRef<float>& b, std::span<double> out) {
  ST_CHECK(a.rows() == b.rows() && a.cols() == b.cols(), InvalidInput,
           "a and b must have the same shape, got [", a.rows(), ", ", a.cols(), "] and [", b.rows(), ", ",
           b.cols(), "]");
  ST_INVARIANT(static_cast<Eigen::Index>(out.size()) == a.rows());
  parallel_for(0, a.rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto u = a.row(i).cast<double>(), v = b.row(i).cast<double>();
      // The root of the product, not the product of roots: equal rows then have cosine 1 exactly, and equal
      // ranks.
      const double lengths = std::sqrt(u.dot(u) * v.dot(v));
      out[static_cast<std::size_t>(i)] = lengths > 0 ? u.dot(v) / lengths : 0;
    }
  });
}

std::vector<double> bootstrap(Correlation correlation, std::span<const double> x, std::span<const double> y,
                              const BootstrapOptions& options) {
  check_pairs(x, y);
  ST_CHECK(options.resamples >= 1, InvalidInput, "resamples must be at least 1, got ", options.resamples);
  ST_CHECK(x.size() <= std::numeric_limits<std::uint32_t>::max(), InvalidInput,
           "more pairs than 2^32: ", x.size());
  return correlation == Correlation::pearson
             ? samples_of(PearsonSampler(x, y), options.resamples, options.seed)
             : samples_of(SpearmanSampler(x, y), options.resamples, options.seed);
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  ST_CHECK(confidence > 0 && confidence < 1, InvalidInput, "confidence must lie between 0 and 1, got ",
           confidence);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {kUndefined, kUndefined};
  std::ranges::sort(values);
  const auto quantile = [&](double q) {
    const double position = q * static_cast<double>(values.size() - 1);
    const auto left = static_cast<std::size_t>(position);
    const std::size_t right = std::min(left + 1, values.size() - 1);
    return std::lerp(values[left], values[right], position - std::floor(position));
  };
  const double tail = 0.5 * (1 - confidence);
  return {quantile(tail), quantile(1 - tail)};
}

}  // namespace sentencode
