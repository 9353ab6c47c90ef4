#include "sentencode/vectors/svd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

SparseMatrix sparse(const MatrixD& dense) {
  SparseMatrix a;
  a.cols = dense.cols();
  for (Eigen::Index r = 0; r < dense.rows(); ++r) {
    for (Eigen::Index c = 0; c < dense.cols(); ++c) {
      if (dense(r, c) == 0) continue;
      a.columns.push_back(static_cast<std::int32_t>(c));
      a.values.push_back(static_cast<float>(dense(r, c)));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.values.size()));
  }
  return a;
}

/// About a fifth of the entries, with decreasing rows, so that the spectrum decays like that of words.
MatrixD random_matrix(Eigen::Index rows, Eigen::Index cols, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  MatrixD m = MatrixD::Zero(rows, cols);
  for (Eigen::Index r = 0; r < rows; ++r) {
    for (Eigen::Index c = 0; c < cols; ++c) {
      if (bits() % 5 == 0) m(r, c) = static_cast<double>(static_cast<float>(normal(bits) / (1.0 + r)));
    }
  }
  return m;
}

TEST(Sparse, MultipliesAndTransposes) {
  const MatrixD dense = random_matrix(70, 33, 1);
  const SparseMatrix a = sparse(dense);
  const SparseMatrix t = transposed(a);
  EXPECT_EQ(t.rows(), 33);
  EXPECT_EQ(t.cols, 70);
  std::mt19937 bits(2);
  for (const Eigen::Index width : {1, 3, 8, 37}) {
    const Matrix x = Matrix::NullaryExpr(33, width, [&] { return static_cast<float>(bits() % 1000) / 1000; });
    const Matrix z = Matrix::NullaryExpr(70, width, [&] { return static_cast<float>(bits() % 1000) / 1000; });
    EXPECT_LE((product(a, x).cast<double>() - dense.lazyProduct(x.cast<double>())).cwiseAbs().maxCoeff(),
              1e-5);
    EXPECT_LE((product(t, z).cast<double>() - dense.transpose().lazyProduct(z.cast<double>()))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-5);
  }
  EXPECT_THROW(product(a, Matrix::Zero(34, 2)), InvalidInput);
  const SparseMatrix back = transposed(t);
  EXPECT_EQ(back.offsets, a.offsets);
  EXPECT_EQ(back.columns, a.columns);
  EXPECT_EQ(back.values, a.values);
}

TEST(Svd, FindsSingularValuesAndVectors) {
  for (const auto& [rows, cols] : {std::pair<int, int>{60, 60}, {90, 40}, {40, 90}}) {
    const MatrixD dense = random_matrix(rows, cols, 3);
    constexpr int kDim = 10;
    const LeftSingular svd = left_singular(sparse(dense), kDim, {.iterations = 8});
    // Reference: eigenpairs of A A^T in double.
    const MatrixD gram = dense.lazyProduct(dense.transpose());
    const Spectrum<double> exact = eigh<double>(gram);
    ASSERT_EQ(svd.vectors.rows(), rows);
    ASSERT_EQ(svd.vectors.cols(), kDim);
    for (int j = 0; j < kDim; ++j) {
      EXPECT_NEAR(svd.values[j], std::sqrt(exact.values[j]), 1e-4 * std::sqrt(exact.values[0]));
      EXPECT_NEAR(svd.vectors.col(j).cast<double>().dot(exact.vectors.row(j)), 1, 1e-3);  // signs too
    }
    const Matrix overlap = product<float>(svd.vectors, svd.vectors, Op::transpose, Op::none);
    EXPECT_LE((overlap - Matrix::Identity(kDim, kDim)).cwiseAbs().maxCoeff(), 1e-5);
  }
}

TEST(Svd, EndsAtTheRank) {
  // Rank 3: sums of three rows.
  MatrixD dense = MatrixD::Zero(30, 20);
  const MatrixD three = random_matrix(3, 20, 4) + random_matrix(3, 20, 5);
  for (Eigen::Index r = 0; r < 30; ++r) dense.row(r) = three.row(r % 3) * static_cast<double>(1 + r % 2);
  const LeftSingular svd = left_singular(sparse(dense), 6);
  EXPECT_TRUE(svd.vectors.allFinite());
  EXPECT_GT(svd.values[2], 1e-2);
  EXPECT_LE(svd.values.tail(3).maxCoeff(), 1e-3 * svd.values[0]);
  const Matrix overlap = product<float>(svd.vectors, svd.vectors, Op::transpose, Op::none);
  EXPECT_LE((overlap.topLeftCorner(3, 3) - Matrix::Identity(3, 3)).cwiseAbs().maxCoeff(), 1e-5);

  const LeftSingular none = left_singular(sparse(MatrixD::Zero(5, 4)), 2);
  EXPECT_EQ(none.values, Vector::Zero(2));
  EXPECT_EQ(none.vectors, Matrix::Zero(5, 2));
}

TEST(Svd, DoesNotDependOnThreadsAndReportsProgress) {
  const SparseMatrix a = sparse(random_matrix(300, 200, 6));
  const int before = num_threads();
  std::int64_t calls = 0, last = 0, total = 0;
  SvdOptions options;
  options.progress = [&](std::int64_t done, std::int64_t steps) {
    ++calls;
    last = done;
    total = steps;
  };
  const LeftSingular expected = left_singular(a, 20, options);
  EXPECT_EQ(calls, total);
  EXPECT_EQ(last, total);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const LeftSingular svd = left_singular(a, 20);
    EXPECT_LE((svd.vectors - expected.vectors).cwiseAbs().maxCoeff(), 1e-5);
  }
  set_num_threads(before);
  const LeftSingular other = left_singular(a, 20, {.iterations = 8, .seed = 1});
  EXPECT_NE(other.vectors, expected.vectors);
  EXPECT_LE((other.values - expected.values).cwiseAbs().maxCoeff(), 2e-2 * expected.values[0]);
}

TEST(Svd, RefusesInvalidOptions) {
  const SparseMatrix a = sparse(random_matrix(6, 4, 7));
  EXPECT_THROW(left_singular(a, 0), InvalidInput);
  EXPECT_THROW(left_singular(a, 5), InvalidInput);
  EXPECT_THROW(left_singular(a, 2, {.iterations = -1}), InvalidInput);
  EXPECT_NO_THROW(left_singular(a, 4));
}

}  // namespace
}  // namespace sentencode
