#include "sentencode/dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "sentencode/error.h"

namespace sentencode {
namespace {

template <typename T>
RowMajor<T> random_matrix(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<T> normal;
  return RowMajor<T>::NullaryExpr(rows, cols, [&] { return normal(bits); });
}

// Eigen's product, which shares no code with the tested one unless there is no BLAS.
template <typename T>
RowMajor<T> oracle_product(const RowMajor<T>& a, const RowMajor<T>& b) {
  return a.lazyProduct(b);
}

/// Q diag(values) Q^T with a random orthogonal Q, whose rows are its eigenvectors, computed in double.
template <typename T>
RowMajor<T> symmetric_with(const Eigen::Matrix<T, Eigen::Dynamic, 1>& values, unsigned seed) {
  const auto n = values.size();
  const RowMajor<double> q = eigh<double>(random_matrix<double>(n, n, seed)).vectors;
  const RowMajor<double> scaled = values.template cast<double>().asDiagonal() * q;
  const RowMajor<double> c = product(q, scaled, Op::transpose);
  return ((c + c.transpose()) / 2).template cast<T>();
}

template <typename T>
void expect_eigenpairs(const RowMajor<T>& c, const Spectrum<T>& actual, double tolerance) {
  const auto p = actual.values.size();
  ASSERT_EQ(actual.vectors.rows(), p);
  ASSERT_EQ(actual.vectors.cols(), c.rows());
  const double scale = p > 0 ? std::max<double>(actual.values.cwiseAbs().maxCoeff(), 1e-30) : 1;
  const RowMajor<T> residual =
      oracle_product<T>(actual.vectors, c) - RowMajor<T>(actual.values.asDiagonal() * actual.vectors);
  EXPECT_LE(p == 0 ? 0 : residual.cwiseAbs().maxCoeff(), tolerance * scale);
  const RowMajor<T> gram = oracle_product<T>(actual.vectors, actual.vectors.transpose());
  EXPECT_LE(p == 0 ? 0 : (gram - RowMajor<T>::Identity(p, p)).cwiseAbs().maxCoeff(), tolerance);
  for (Eigen::Index i = 0; i < p; ++i) {
    EXPECT_LE(actual.values[i], actual.values[std::max<Eigen::Index>(i - 1, 0)]);
    Eigen::Index largest = 0;
    actual.vectors.row(i).cwiseAbs().maxCoeff(&largest);
    EXPECT_GT(actual.vectors(i, largest), 0);
  }
}

template <typename T>
class Dense : public ::testing::Test {
 protected:
  static constexpr double kTight = std::is_same_v<T, float> ? 2e-5 : 1e-12;
  /// Tolerance of decompositions: Eigen's are less precise than LAPACK's by a digit.
  static double decomposed() {
    return dense_backend().starts_with("Eigen") ? (std::is_same_v<T, float> ? 1e-4 : 1e-11) : kTight;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Dense, Types);

TYPED_TEST(Dense, GemmEqualsTheProduct) {
  using T = TypeParam;
  for (const auto [m, n, k] :
       {std::array{1, 1, 1}, {1, 7, 5}, {7, 1, 5}, {3, 4, 0}, {33, 17, 65}, {130, 70, 300}}) {
    const RowMajor<T> a = random_matrix<T>(m, k, 1), b = random_matrix<T>(k, n, 2),
                      c = random_matrix<T>(m, n, 3);
    const RowMajor<T> at = a.transpose(), bt = b.transpose(),
                      expected = T(2) * oracle_product(a, b) + T(-0.5) * c;
    const double tolerance = this->kTight * std::sqrt(k + 1.0);
    for (const Op op_a : {Op::none, Op::transpose}) {
      for (const Op op_b : {Op::none, Op::transpose}) {
        RowMajor<T> out = c;
        gemm(op_a, op_b, T(2), op_a == Op::none ? a : at, op_b == Op::none ? b : bt, T(-0.5), out);
        EXPECT_LE((out - expected).cwiseAbs().maxCoeff(), tolerance) << m << " " << n << " " << k;
        const RowMajor<T> made = product(op_a == Op::none ? a : at, op_b == Op::none ? b : bt, op_a, op_b);
        EXPECT_LE((made - oracle_product(a, b)).cwiseAbs().maxCoeff(), tolerance);
      }
    }
  }
}

TYPED_TEST(Dense, GemmReadsAndWritesBlocksOfLargerMatrices) {
  using T = TypeParam;
  const RowMajor<T> a = random_matrix<T>(20, 30, 1), b = random_matrix<T>(30, 25, 2);
  RowMajor<T> c = RowMajor<T>::Constant(12, 14, T(7));
  gemm(Op::none, Op::none, T(1), a.block(3, 4, 5, 6), b.block(1, 2, 6, 8), T(0), c.block(2, 3, 5, 8));
  const RowMajor<T> expected = oracle_product<T>(a.block(3, 4, 5, 6), b.block(1, 2, 6, 8));
  EXPECT_LE((c.block(2, 3, 5, 8) - expected).cwiseAbs().maxCoeff(), this->kTight * 10);
  c.block(2, 3, 5, 8).setConstant(T(7));
  EXPECT_TRUE((c.array() == T(7)).all()) << "wrote outside its block";
}

TYPED_TEST(Dense, GemmWithBetaZeroOverwritesNaN) {
  using T = TypeParam;
  RowMajor<T> c = RowMajor<T>::Constant(3, 3, std::numeric_limits<T>::quiet_NaN());
  gemm(Op::none, Op::none, T(1), random_matrix<T>(3, 4, 1), random_matrix<T>(4, 3, 2), T(0), c);
  EXPECT_TRUE(c.allFinite());
  c.setConstant(std::numeric_limits<T>::quiet_NaN());
  gemm(Op::none, Op::none, T(1), RowMajor<T>(3, 0), RowMajor<T>(0, 3), T(0), c);
  EXPECT_TRUE((c.array() == T(0)).all()) << "a sum over nothing is zero";
}

TYPED_TEST(Dense, ProductsOfEmptyMatrices) {
  using T = TypeParam;
  EXPECT_EQ(product(RowMajor<T>(0, 4), random_matrix<T>(4, 3, 1)).rows(), 0);
  EXPECT_EQ(product(random_matrix<T>(4, 3, 1), RowMajor<T>(3, 0)).cols(), 0);
}

TYPED_TEST(Dense, GemmRefusesWrongShapes) {
  using T = TypeParam;
  RowMajor<T> c(2, 2);
  try {
    gemm(Op::none, Op::transpose, T(1), RowMajor<T>(2, 3), RowMajor<T>(2, 4), T(0), c);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "gemm: shapes do not fit: [2, 3] x [4, 2] -> [2, 2]");
  }
}

TYPED_TEST(Dense, EighReadsTheUpperTriangle) {
  using T = TypeParam;
  for (const int n : {0, 1, 2, 3, 40, 150}) {
    RowMajor<T> c = random_matrix<T>(n, n, 4);
    c = (c + c.transpose().eval()) / 2;
    RowMajor<T> upper = c.template triangularView<Eigen::Upper>();
    upper.template triangularView<Eigen::StrictlyLower>().setConstant(T(99));
    const Spectrum<T> actual = eigh(upper);
    ASSERT_EQ(actual.values.size(), n);
    expect_eigenpairs(c, actual, this->decomposed());
  }
}

TYPED_TEST(Dense, TopEigenpairsEqualThoseOfEigh) {
  using T = TypeParam;
  for (const int n : {1, 5, 60, 420}) {
    Eigen::Matrix<T, Eigen::Dynamic, 1> values(n);
    for (int i = 0; i < n; ++i)
      values[i] = T(3) / T((1 + i) * std::sqrt(T(1 + i)));  // decays like real spectra
    const RowMajor<T> c = symmetric_with<T>(values, 5);
    for (const int p : {0, 1, 4, 400}) {
      if (p > n) continue;
      TopOptions options;
      options.tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-11;
      const Spectrum<T> top = top_eigenpairs(c, p, options);
      ASSERT_EQ(top.values.size(), p);
      expect_eigenpairs(c, top, this->decomposed());
      for (int i = 0; i < p; ++i)
        EXPECT_NEAR(top.values[i], values[i], this->decomposed()) << n << " " << p << " " << i;
      if (n == 420) {
        EXPECT_EQ(top.iterations > 0, p == 1 || p == 4) << p;
      }
    }
  }
}

TYPED_TEST(Dense, TopEigenpairsOfMatricesOfLowRank) {
  using T = TypeParam;
  const int n = 320;
  for (const int rank : {0, 1, 7}) {
    Eigen::Matrix<T, Eigen::Dynamic, 1> values = Eigen::Matrix<T, Eigen::Dynamic, 1>::Zero(n);
    for (int i = 0; i < rank; ++i) values[i] = T(rank - i);
    const RowMajor<T> c = symmetric_with<T>(values, 6);
    const Spectrum<T> top = top_eigenpairs(c, 20);
    expect_eigenpairs(c, top, 1e-4);
    for (int i = 0; i < 20; ++i) EXPECT_NEAR(top.values[i], values[i], 1e-4) << rank << " " << i;
  }
}

TYPED_TEST(Dense, TopEigenpairsOfEqualEigenvalues) {
  using T = TypeParam;
  const RowMajor<T> c = T(2) * RowMajor<T>::Identity(320, 320);
  expect_eigenpairs(c, top_eigenpairs(c, 30), 1e-4);
}

TYPED_TEST(Dense, TopEigenpairsAreDeterministic) {
  using T = TypeParam;
  const RowMajor<T> half = random_matrix<T>(200, 320, 8);
  const RowMajor<T> c = product(half, half, Op::transpose);
  const Spectrum<T> one = top_eigenpairs(c, 10), two = top_eigenpairs(c, 10);
  EXPECT_EQ(one.vectors, two.vectors);
  EXPECT_EQ(one.values, two.values);
}

TYPED_TEST(Dense, DecompositionsRefuseInvalidMatrices) {
  using T = TypeParam;
  RowMajor<T> c = RowMajor<T>::Identity(4, 4);
  EXPECT_THROW(eigh(RowMajor<T>(3, 4)), InvalidInput);
  EXPECT_THROW(top_eigenpairs(c, 5), InvalidInput);
  EXPECT_THROW(top_eigenpairs(c, -1), InvalidInput);
  c(1, 2) = std::numeric_limits<T>::infinity();
  EXPECT_THROW(eigh(c), InvalidInput);
  EXPECT_THROW(top_eigenpairs(c, 1), InvalidInput);
}

TEST(DenseBackend, HasAName) { EXPECT_FALSE(dense_backend().empty()); }

}  // namespace
}  // namespace sentencode
