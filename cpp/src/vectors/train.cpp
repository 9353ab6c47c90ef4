#include "sentencode/vectors/train.h"

#include <cmath>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

SparseMatrix positive_pmi(SparseMatrix counts, const PmiOptions& options) {
  ST_CHECK(options.smoothing > 0 && options.smoothing <= 1, InvalidInput,
           "smoothing must be above 0 and at most 1, got ", options.smoothing);
  ST_CHECK(std::isfinite(options.shift), InvalidInput, "shift must be a finite number, got ", options.shift);
  const auto rows = static_cast<std::size_t>(counts.rows());
  std::vector<double> row_sums(rows), column_sums(static_cast<std::size_t>(counts.cols));
  for (std::size_t r = 0; r < rows; ++r) {
    for (auto k = static_cast<std::size_t>(counts.offsets[r]);
         k < static_cast<std::size_t>(counts.offsets[r + 1]); ++k) {
      row_sums[r] += static_cast<double>(counts.values[k]);
      column_sums[static_cast<std::size_t>(counts.columns[k])] += static_cast<double>(counts.values[k]);
    }
  }
  // log(n_ij) - log(n_i) - log(m_j / n), whose last term is smoothing log(c_j) - log(sum of c^smoothing).
  double smoothed = 0;
  for (double& sum : column_sums) {
    smoothed += std::pow(sum, options.smoothing);
    sum = options.smoothing * std::log(sum);
  }
  const double constant = std::log(smoothed) - options.shift;
  parallel_for(0, counts.rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
      const double row = constant - std::log(row_sums[r]);
      for (auto k = static_cast<std::size_t>(counts.offsets[r]);
           k < static_cast<std::size_t>(counts.offsets[r + 1]); ++k) {
        const double column = column_sums[static_cast<std::size_t>(counts.columns[k])];
        counts.values[k] = static_cast<float>(std::log(static_cast<double>(counts.values[k])) + row - column);
      }
    }
  });

  // Removes entries that are not positive.
  std::size_t size = 0;
  for (std::size_t r = 0, k = 0; r < rows; ++r) {
    for (; k < static_cast<std::size_t>(counts.offsets[r + 1]); ++k) {
      if (!(counts.values[k] > 0)) continue;
      counts.columns[size] = counts.columns[k];
      counts.values[size++] = counts.values[k];
    }
    counts.offsets[r + 1] = static_cast<std::int64_t>(size);
  }
  counts.columns.resize(size);
  counts.values.resize(size);
  counts.columns.shrink_to_fit();
  counts.values.shrink_to_fit();
  return counts;
}

Matrix embed(SparseMatrix counts, const EmbeddingOptions& options) {
  ST_CHECK(std::isfinite(options.exponent) && std::isfinite(options.length), InvalidInput,
           "exponent and length must be finite, got ", options.exponent, " and ", options.length);
  LeftSingular svd = left_singular(positive_pmi(std::move(counts), options.pmi), options.dim, options.svd);
  for (Eigen::Index j = 0; j < svd.values.size(); ++j) {
    // Columns with singular value 0 are zero.
    const float scale = svd.values[j] > 0 ? std::pow(svd.values[j], static_cast<float>(options.exponent)) : 0;
    svd.vectors.col(j) *= scale;
  }
  for (auto row : svd.vectors.rowwise()) {
    const auto norm = static_cast<float>(std::sqrt(squared_length(row)));
    if (norm > 0) row *= std::pow(norm, static_cast<float>(options.length) - 1);
  }
  return std::move(svd.vectors);
}

}  // namespace sentencode
