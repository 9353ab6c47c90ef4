#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/sentences.h"

namespace sentencode {

/// Correlations with human scores, one for every setting of an encoder.
struct Curve {
  std::string name;                    // "SIF", "forward", "sum", ...
  std::vector<std::int64_t> settings;  // numbers of components, or of hidden units
  std::vector<double> pearson;         // for each setting; NaN if all cosines or all scores are equal

  /// Index of the best setting, the first of equals.
  std::size_t best() const;
};

/// Cosine of x and y from x.y, x.x and y.y; 0 if one of them is zero.
double cosine(double xy, double xx, double yy);

/// Fills the curve with the correlations of `gold` and each row of cosines, one row per setting.
void correlate(Curve& curve, const MatrixD& cosines, std::span<const double> gold);

/// InvalidInput unless there are as many first sentences as second ones and scores, and scores are finite.
void check_pairs(const Sentences& first, const Sentences& second, std::span<const double> gold);

}  // namespace sentencode
