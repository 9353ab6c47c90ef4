#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/sentences.h"

namespace sentencode {

/// How well a family of encoders agrees with people: one correlation for every setting tried.
struct Curve {
  std::string name;                    // which encoders: "SIF", "forward", "sum", ...
  std::vector<std::int64_t> settings;  // numbers of components, or of hidden units
  std::vector<double> pearson;         // as many; not a number where all cosines or all scores are equal

  /// The place of the best; the first of equals.
  std::size_t best() const;
};

/// For the pairs of x and y, by the products x.y, x.x and y.y of their rows; 0 when one of them is zero.
double cosine(double xy, double xx, double yy);

/// A row of cosines for each setting becomes the curve's correlations with `gold`.
void correlate(Curve& curve, const MatrixD& cosines, std::span<const double> gold);

/// As many first sentences as second ones and scores, the scores finite; InvalidInput otherwise.
void check_pairs(const Sentences& first, const Sentences& second, std::span<const double> gold);

}  // namespace sentencode
