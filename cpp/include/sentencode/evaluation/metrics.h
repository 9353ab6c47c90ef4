#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sentencode/dense.h"

/// How well scores agree. All of them refuse values that are not finite, and lists of different length.
namespace sentencode {

enum class Correlation { pearson, spearman };

/// Between -1 and 1; not a number where it is undefined: fewer than two pairs, or all of one side equal.
double pearson(std::span<const double> x, std::span<const double> y);
double spearman(std::span<const double> x, std::span<const double> y);

/// 1 for the smallest; equal values share the mean of the ranks that they take up.
std::vector<double> ranks(std::span<const double> values);

/// out[i] = cosine of a's row i and b's row i, summed in double; 0 where a row is zero.
void cosine_of_pairs(const ConstRef<float>& a, const ConstRef<float>& b, std::span<double> out);

struct BootstrapOptions {
  std::int64_t resamples = 2000;
  std::uint64_t seed = 1111;
};

/// The correlation of each of many samples of (x_i, y_i), drawn with replacement and as long as the original.
/// Which pairs a sample holds depends on seed, length and the sample's number alone, not on threads and not
/// on the values: so the results for two systems that were scored on the same pairs can be subtracted sample
/// by sample.
std::vector<double> bootstrap(Correlation correlation, std::span<const double> x, std::span<const double> y,
                              const BootstrapOptions& options = {});

struct Interval {
  double low, high;
};

/// The middle `confidence` of the values, ends interpolated. Values that are not a number are left out.
Interval percentile_interval(std::vector<double> values, double confidence = 0.95);

}  // namespace sentencode
