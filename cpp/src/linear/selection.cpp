#include "sentencode/linear/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sentencode/error.h"
#include "sentencode/evaluation/metrics.h"

namespace sentencode {

std::size_t Curve::best() const {
  const auto worse = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
  return static_cast<std::size_t>(std::max_element(pearson.begin(), pearson.end(), worse) - pearson.begin());
}

double cosine(double xy, double xx, double yy) {
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx) / std::sqrt(yy) : 0;
}

void correlate(Curve& curve, const MatrixD& cosines, std::span<const double> gold) {
  // Such small differences of cosines are rounding errors, whose correlation means nothing.
  constexpr double kAlike = 1e-6;
  curve.pearson.clear();
  for (const auto& row : cosines.rowwise()) {
    const bool alike = row.size() == 0 || row.maxCoeff() - row.minCoeff() <= kAlike;
    curve.pearson.push_back(alike ? std::numeric_limits<double>::quiet_NaN()
                                  : pearson({row.data(), gold.size()}, gold));
  }
}

void check_pairs(const Sentences& first, const Sentences& second, std::span<const double> gold) {
  ST_CHECK(first.size() == second.size() && first.size() == std::ssize(gold), InvalidInput,
           "select: ", first.size(), " first sentences, ", second.size(), " second ones and ", gold.size(),
           " scores");
  const auto bad = std::find_if(gold.begin(), gold.end(), [](double score) { return !std::isfinite(score); });
  ST_CHECK(bad == gold.end(), InvalidInput, "select: scores[", bad - gold.begin(), "] is ", *bad);
}

}  // namespace sentencode
