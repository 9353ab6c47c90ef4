#include "sentencode/linear/fit_autoencoder.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <cmath>

#include "linear/fitted.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

using Column = Eigen::MatrixXd;

/// Section IV.A literally: A = U_1^T, B = Q^T with Q = S V^T R^T V S^-1, from a dense SVD of Xi truncated to
/// p.
struct Paper {
  MatrixD a, b, u;  // [p, n], [p, p], [L n, p]
  VectorD s;
  std::int64_t rank;

  Paper(const Example& example, const RaggedIds& sentences, Reading reading, const VectorD& centre,
        std::int64_t p) {
    const std::int64_t n = example.vectors()->dim();
    const Eigen::JacobiSVD<Column> svd(Column(example.xi(sentences, reading, centre)),
                                       Eigen::ComputeThinU | Eigen::ComputeThinV);
    rank = (svd.singularValues().array() > 1e-9 * svd.singularValues()[0]).count();
    p = std::min(p, rank);
    const Column v = svd.matrixU().leftCols(p);
    s = svd.singularValues().head(p);
    u = svd.matrixV().leftCols(p);
    a = u.topRows(n).transpose();
    const Column q = s.asDiagonal() * (v.transpose() * example.shift(sentences).transpose() * v) *
                     s.cwiseInverse().asDiagonal();
    b = q.transpose();
  }

  /// Singular vectors are defined up to their signs: makes them equal to those of `other`.
  void align(const MatrixD& other) {
    for (Eigen::Index i = 0; i < a.rows(); ++i) {
      if (a.row(i).dot(other.row(i)) >= 0) continue;
      a.row(i) *= -1;
      b.row(i) *= -1;
      b.col(i) *= -1;
      u.col(i) *= -1;
    }
  }
};

double reconstruction_error(const Example& example, const RaggedIds& sentences, Reading reading,
                            const Autoencoder& m) {
  double wrong = 0, whole = 0;
  for (std::int64_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].empty()) continue;
    const Matrix x = example.x(sentences[i], reading).cast<float>();
    const Matrix h = m.states(x);
    wrong += (m.decode(h.row(h.rows() - 1).transpose(), x.rows()) - x).cast<double>().squaredNorm();
    whole += x.cast<double>().squaredNorm();
  }
  return std::sqrt(wrong / whole);
}

class FitTest : public ::testing::TestWithParam<std::tuple<Reading, bool, bool>> {
};  // reading, centred, dual

TEST_P(FitTest, EqualsThePaperForEveryHiddenSize) {
  const auto [reading, centred, dual] = GetParam();
  Example example(5);
  const RaggedIds sentences = dual ? example.ids(4, 3, 6) : example.ids(60, 0, 6);
  const VectorD centre = centred ? example.mean(sentences) : VectorD::Zero(5);
  for (const std::int64_t p : {1, 3, 10, 100}) {
    Paper paper(example, sentences, reading, centre, p);
    const Autoencoder m = fit(example, sentences, reading, p, centred, true, dual);
    const std::int64_t rank = std::min(p, paper.rank);
    ASSERT_EQ(m.rank, rank);
    ASSERT_EQ(m.hidden(), p);
    paper.align(m.a.cast<double>());
    EXPECT_LE(largest(m.a.topRows(rank).cast<double>() - paper.a), 1e-6);
    EXPECT_LE(largest(m.b.topLeftCorner(rank, rank).cast<double>() - paper.b), 1e-6);
    EXPECT_LE(largest(m.u.topRows(rank).cast<double>() - MatrixD(paper.u.transpose())), 1e-6);
    EXPECT_LE(largest(m.singular_values.head(rank).cast<double>() - paper.s) / paper.s[0], 1e-6);
    EXPECT_EQ(m.centre.size(), centred ? 5 : 0);
    EXPECT_EQ(m.longest, 6);
    if (p > rank) {  // above the rank
      EXPECT_EQ(largest(m.a.bottomRows(p - rank).cast<double>()), 0);
      EXPECT_EQ(largest(m.b.bottomRows(p - rank).cast<double>()), 0);
      EXPECT_EQ(largest(m.b.rightCols(p - rank).cast<double>()), 0);
      EXPECT_EQ(m.singular_values.tail(p - rank).norm(), 0);
    }
  }
}

TEST_P(FitTest, ReconstructsExactlyOnlyAtFullRank) {
  const auto [reading, centred, dual] = GetParam();
  Example example(4);
  const RaggedIds sentences = dual ? example.ids(4, 2, 6) : example.ids(50, 0, 6);
  const Autoencoder full = fit(example, sentences, reading, 100, centred, false, dual);
  EXPECT_LE(reconstruction_error(example, sentences, reading, full), 2e-5);
  const double half = reconstruction_error(example, sentences, reading, full.truncated(full.rank / 2));
  const double one = reconstruction_error(example, sentences, reading, full.truncated(1));
  EXPECT_GT(half, 0.01);
  EXPECT_GT(one, half);
}

TEST_P(FitTest, SmallerSizesAreSubmatricesAndNoneExpands) {
  const auto [reading, centred, dual] = GetParam();
  Example example(5);
  const RaggedIds sentences = dual ? example.ids(4, 3, 6) : example.ids(60, 0, 6);
  const Autoencoder large = fit(example, sentences, reading, 12, centred, true, dual);
  for (const std::int64_t p : {1, 5, 12}) {
    const Autoencoder small = fit(example, sentences, reading, p, centred, true, dual),
                      corner = large.truncated(p);
    EXPECT_LE(largest((small.a - corner.a).cast<double>()), 1e-6);
    EXPECT_LE(largest((small.b - corner.b).cast<double>()), 1e-6);
    EXPECT_LE(largest((small.u - corner.u).cast<double>()), 1e-6);
    EXPECT_EQ(corner.rank, p);
    const MatrixD a = corner.a.cast<double>(), b = corner.b.cast<double>();
    const Column sum = a * a.transpose() + b * b.transpose();
    EXPECT_LE(Eigen::SelfAdjointEigenSolver<Column>(sum).eigenvalues().maxCoeff(), 1 + 1e-6);
  }
  EXPECT_THROW_WITH(large.truncated(13), InvalidInput, "hidden must be 1 to 12, got 13");
}

TEST_P(FitTest, IsTheBestLinearDecoder) {  // A = lstsq(H, X), B = lstsq(H, R H)
  const auto [reading, centred, dual] = GetParam();
  Example example(5);
  const RaggedIds sentences = dual ? example.ids(4, 3, 6) : example.ids(60, 0, 6);
  const VectorD centre = centred ? example.mean(sentences) : VectorD::Zero(5);
  const Autoencoder m = fit(example, sentences, reading, 7, centred, true, dual);
  const Column xi = example.xi(sentences, reading, centre);
  const Column h = xi * m.u.cast<double>().transpose();
  const auto solver = h.colPivHouseholderQr();
  EXPECT_LE(largest(MatrixD(solver.solve(xi.leftCols(5))) - m.a.cast<double>()), 1e-5);
  EXPECT_LE(largest(MatrixD(solver.solve(Column(example.shift(sentences) * h))) - m.b.cast<double>()), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Autoencoder, FitTest,
                         ::testing::Combine(::testing::ValuesIn(kReadings), ::testing::Bool(),
                                            ::testing::Bool()));

/// If few sentences are long, the columns of their first words are reduced, which must not change the result.
TEST(Autoencoder, FitsLongSentencesInFewerColumns) {
  for (const Reading reading : kReadings) {
    for (const bool centred : {false, true}) {
      for (const std::int64_t shortest : {1, 5}) {  // of the other sentences
        Example example(5);
        RaggedIds sentences = example.ids(80, shortest, 5);
        for (const std::int64_t length : {14, 11, 12}) {
          const RaggedIds tail = example.ids(1, length, length);
          sentences.ids.insert(sentences.ids.end(), tail.ids.begin(), tail.ids.end());
          sentences.offsets.push_back(std::ssize(sentences.ids));
        }
        const VectorD centre = centred ? example.mean(sentences) : VectorD::Zero(5);
        for (const std::int64_t p : {1, 3, 10, 100}) {
          Paper paper(example, sentences, reading, centre, p);
          const Autoencoder m = fit(example, sentences, reading, p, centred, true, /*dual=*/true);
          const std::int64_t rank = std::min(p, paper.rank);
          ASSERT_EQ(m.rank, rank);
          EXPECT_EQ(m.longest, 14);
          paper.align(m.a.cast<double>());
          EXPECT_LE(largest(m.a.topRows(rank).cast<double>() - paper.a), 1e-6);
          EXPECT_LE(largest(m.b.topLeftCorner(rank, rank).cast<double>() - paper.b), 1e-6);
          EXPECT_LE(largest(m.u.topRows(rank).cast<double>() - MatrixD(paper.u.transpose())), 1e-6);
          EXPECT_LE(largest(m.singular_values.head(rank).cast<double>() - paper.s) / paper.s[0], 1e-6);
        }
      }
    }
  }
}

class WideWords : public ::testing::TestWithParam<bool> {};

TEST_P(WideWords, AreFittedInFloat) {
  Example example(150, 60);
  RaggedIds sentences = example.ids(400, 15, 21);  // 21 * 150 = 3150 columns: too many for double
  const RaggedIds tail = example.ids(5, 30, 40);
  if (GetParam()) {  // and longer ones, which are truncated
    sentences.ids.insert(sentences.ids.end(), tail.ids.begin(), tail.ids.end());
    for (std::int64_t i = 0; i < tail.size(); ++i)
      sentences.offsets.push_back(sentences.offsets.back() + std::ssize(tail[i]));
  }
  const Autoencoder m = fit(example, sentences, Reading::forward, 20, false, false, GetParam());
  PrefixGram gram(Reading::forward, 150, 64);
  gram.add(sentences);
  gram.absorb(example.words());
  const Spectrum<double> exact = top_eigenpairs(gram.covariance<double>({}), 20, {.tolerance = 1e-8});
  EXPECT_LE(
      largest((m.singular_values.cast<double>() - exact.values.cwiseSqrt()) / std::sqrt(exact.values[0])),
      1e-5);
  EXPECT_LE(largest(m.a.topRows(3).cast<double>() - exact.vectors.topLeftCorner(3, 150)), 1e-3);
  const std::int64_t width = exact.vectors.cols() - 150;
  const MatrixD b = product(MatrixD(exact.vectors.rightCols(width)), MatrixD(exact.vectors.leftCols(width)),
                            Op::none, Op::transpose);
  EXPECT_LE(largest(m.b.topLeftCorner(3, 3).cast<double>() - b.topLeftCorner(3, 3)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Autoencoder, WideWords, ::testing::Bool());

TEST(Autoencoder, CannotBeFittedWithoutWords) {
  Example example(3);
  PrefixGram gram(Reading::forward, 3, 10);
  EXPECT_THROW_WITH(fit_autoencoder(gram, example.words(), 2, false, false), InvalidInput,
                    "no sentence had a known word");
}

TEST(Autoencoder, OfOneWordHasItsDirection) {
  Example example(3);
  RaggedIds one;
  one.ids = {4};
  one.offsets = {0, 1};
  const Autoencoder m = fit(example, one, Reading::forward, 2, false, false, true);
  const MatrixD x = example.x(one[0]);
  EXPECT_EQ(m.rank, 1);
  EXPECT_LE(largest(m.a.row(0).cast<double>().cwiseAbs() - x.row(0).normalized().cwiseAbs()), 1e-6);
  EXPECT_LE(largest(m.b.cast<double>()), 1e-6);
}

TEST(Autoencoder, OfOneCentredWordIsZero) {
  Example example(3);
  RaggedIds one;
  one.ids = {4};
  one.offsets = {0, 1};
  const Autoencoder m = fit(example, one, Reading::forward, 2, true, true, true);
  EXPECT_EQ(m.rank, 0);
  EXPECT_EQ(largest(m.a.cast<double>()) + largest(m.b.cast<double>()) + largest(m.u.cast<double>()), 0);
}

}  // namespace
}  // namespace sentencode
