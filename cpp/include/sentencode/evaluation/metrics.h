#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/enum_names.h"

/// Correlations and their intervals. All functions refuse values that are not finite, and spans of unequal
/// length.
namespace sentencode {

enum class Correlation { pearson, spearman };
constexpr EnumNames<2> enum_names(Correlation) { return {"correlation", {"pearson", "spearman"}}; }

/// Correlation in [-1, 1]; NaN if there are fewer than two pairs, or all values of one side are equal.
double pearson(std::span<const double> x, std::span<const double> y);
double spearman(std::span<const double> x, std::span<const double> y);

/// Ranks from 1 for the smallest; equal values get the mean of their ranks.
std::vector<double> ranks(std::span<const double> values);

/// out[i] = cosine of row i of a and row i of b, summed in double; 0 if one of them is zero.
void cosine_of_pairs(const ConstRef<float>& a, const ConstRef<float>& b, std::span<double> out);

struct BootstrapOptions {
  std::int64_t resamples = 2000;
  std::uint64_t seed = 1111;
};

/// Correlations of bootstrap samples of the pairs (x_i, y_i). The indices of a sample depend only on the
/// seed, the length and the sample's index, so that results of two systems for the same pairs can be
/// subtracted sample by sample.
std::vector<double> bootstrap(Correlation correlation, std::span<const double> x, std::span<const double> y,
                              const BootstrapOptions& options = {});

struct Interval {
  double low, high;
};

/// The interval of the middle `confidence` of the values, with interpolated ends. NaN is ignored.
Interval percentile_interval(std::vector<double> values, double confidence = 0.95);

}  // namespace sentencode
