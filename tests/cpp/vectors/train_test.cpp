#include "sentencode/vectors/train.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sentencode/error.h"

namespace sentencode {
namespace {

//     0 4 1 0
//     4 2 0 0
//     1 0 0 3
//     0 0 3 0     with an empty fifth row and column: a word without neighbours
SparseMatrix small_counts() {
  SparseMatrix counts;
  counts.cols = 5;
  counts.offsets = {0, 2, 4, 6, 7, 7};
  counts.columns = {1, 2, 0, 1, 0, 3, 2};
  counts.values = {4, 1, 4, 2, 1, 3, 3};
  return counts;
}

TEST(PositivePmi, EqualsTheDefinition) {
  const double sums[] = {5, 6, 4, 3};
  for (const double smoothing : {1.0, 0.75}) {
    for (const double shift : {0.0, 0.5}) {
      double smoothed = 0;
      for (const double s : sums) smoothed += std::pow(s, smoothing);
      const SparseMatrix counts = small_counts();
      MatrixD expected = MatrixD::Zero(5, 5);
      for (int r = 0; r < 4; ++r) {
        for (auto k = counts.offsets[static_cast<std::size_t>(r)];
             k < counts.offsets[static_cast<std::size_t>(r) + 1]; ++k) {
          const int c = counts.columns[static_cast<std::size_t>(k)];
          const double together = counts.values[static_cast<std::size_t>(k)] / 18.0;
          const double apart = sums[r] / 18.0 * std::pow(sums[c], smoothing) / smoothed;
          expected(r, c) = std::max(0.0, std::log(together / apart) - shift);
        }
      }
      const SparseMatrix pmi = positive_pmi(small_counts(), {.smoothing = smoothing, .shift = shift});
      EXPECT_EQ(pmi.nonzeros(), (expected.array() > 0).count());
      for (int r = 0; r < 5; ++r) {
        for (auto k = pmi.offsets[static_cast<std::size_t>(r)];
             k < pmi.offsets[static_cast<std::size_t>(r) + 1]; ++k) {
          EXPECT_NEAR(pmi.values[static_cast<std::size_t>(k)],
                      expected(r, pmi.columns[static_cast<std::size_t>(k)]), 1e-6);
        }
      }
    }
  }
}

TEST(PositivePmi, RefusesInvalidCounts) {
  EXPECT_THROW(positive_pmi(small_counts(), {.smoothing = 0}), InvalidInput);
  EXPECT_THROW(positive_pmi(small_counts(), {.smoothing = 1.5}), InvalidInput);
  EXPECT_THROW(positive_pmi(small_counts(), {.shift = std::numeric_limits<double>::quiet_NaN()}),
               InvalidInput);
}

TEST(Embed, IsExactAtFullRank) {
  // At full rank and exponent 1, W W^T = M M^T.
  const SparseMatrix pmi = positive_pmi(small_counts());
  MatrixD m = MatrixD::Zero(5, 5);
  for (int r = 0; r < 5; ++r) {
    for (auto k = pmi.offsets[static_cast<std::size_t>(r)]; k < pmi.offsets[static_cast<std::size_t>(r) + 1];
         ++k) {
      m(r, pmi.columns[static_cast<std::size_t>(k)]) =
          static_cast<double>(pmi.values[static_cast<std::size_t>(k)]);
    }
  }
  const Matrix w = embed(small_counts(), {.dim = 5, .exponent = 1, .length = 1});
  const MatrixD expected = m.lazyProduct(m.transpose());
  EXPECT_LE((w.cast<double>().lazyProduct(w.cast<double>().transpose()) - expected).cwiseAbs().maxCoeff(),
            1e-5);
  EXPECT_EQ(w.row(4).norm(), 0) << "a word without company has no direction";

  const Matrix directions = embed(small_counts(), {.dim = 5, .exponent = 1, .length = 0});
  const Matrix between = embed(small_counts(), {.dim = 5, .exponent = 1, .length = 0.5});
  for (int r = 0; r < 4; ++r) {
    EXPECT_LE((directions.row(r) - w.row(r).normalized()).cwiseAbs().maxCoeff(), 1e-5);
    EXPECT_NEAR(between.row(r).squaredNorm(), w.row(r).norm(), 1e-5);
  }
  EXPECT_EQ(directions.row(4).norm(), 0);
  EXPECT_THROW(embed(small_counts(), {.dim = 5, .length = std::numeric_limits<double>::infinity()}),
               InvalidInput);
}

}  // namespace
}  // namespace sentencode
