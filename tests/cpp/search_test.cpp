#include "sentencode/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

Matrix random_matrix(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  return Matrix::NullaryExpr(rows, columns, [&] { return normal(generator); });
}

struct Hits {
  RowMajor<std::int64_t> indices;
  Matrix scores;
};

Hits hits_of(const NearestRows& nearest) {
  const std::int64_t k = std::min(nearest.k(), nearest.rows());
  Hits hits{RowMajor<std::int64_t>(nearest.queries(), k), Matrix(nearest.queries(), k)};
  nearest.result(hits.indices, hits.scores);
  return hits;
}

/// Every similarity, sorted.
Hits by_sorting(const Matrix& queries, const Matrix& rows, std::int64_t k, Similarity similarity) {
  k = std::min<std::int64_t>(k, rows.rows());
  Hits hits{RowMajor<std::int64_t>(queries.rows(), k), Matrix(queries.rows(), k)};
  for (std::int64_t q = 0; q < queries.rows(); ++q) {
    std::vector<double> score(static_cast<std::size_t>(rows.rows()));
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      const double lengths = similarity == Similarity::dot ? 1 : queries.row(q).norm() * rows.row(i).norm();
      score[static_cast<std::size_t>(i)] = lengths > 0 ? queries.row(q).dot(rows.row(i)) / lengths : 0;
    }
    std::vector<std::int64_t> order(score.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
    });
    for (std::int64_t j = 0; j < k; ++j) {
      hits.indices(q, j) = order[static_cast<std::size_t>(j)];
      hits.scores(q, j) =
          static_cast<float>(score[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])]);
    }
  }
  return hits;
}

class NearestRowsTest : public testing::TestWithParam<Similarity> {};

TEST_P(NearestRowsTest, EqualsSorting) {
  // Sizes around multiples of the tile size, in a stream of blocks of different sizes.
  for (const auto& [queries, rows, k] :
       {std::tuple{1, 5, 3}, {3, 40, 40}, {600, 5000, 10}, {2, 2048, 7}, {7, 2049, 1}}) {
    const Matrix q = random_matrix(queries, 8, 1), c = random_matrix(rows, 8, 2);
    NearestRows nearest(q, k, GetParam());
    for (std::int64_t first = 0, count = 1; first < rows; first += count, count = 3 * count + 1) {
      count = std::min<std::int64_t>(count, rows - first);
      nearest.add(c.middleRows(first, count));
    }
    const Hits actual = hits_of(nearest), expected = by_sorting(q, c, k, GetParam());
    EXPECT_EQ(actual.indices, expected.indices);
    EXPECT_LT((actual.scores - expected.scores).cwiseAbs().maxCoeff(), 1e-5F);
  }
}

TEST_P(NearestRowsTest, ReturnsAllRowsIfThereAreFewerThanK) {
  const Matrix q = random_matrix(2, 4, 1), c = random_matrix(3, 4, 2);
  NearestRows nearest(q, 10, GetParam());
  EXPECT_EQ(hits_of(nearest).indices.cols(), 0);
  nearest.add(c);
  EXPECT_EQ(hits_of(nearest).indices, by_sorting(q, c, 3, GetParam()).indices);
}

INSTANTIATE_TEST_SUITE_P(Measures, NearestRowsTest, testing::Values(Similarity::cosine, Similarity::dot));

TEST(NearestRows, OrdersTiesByRow) {
  const Matrix q = Matrix::Ones(1, 2);
  Matrix c = Matrix::Ones(100, 2);
  c.row(70) *= 2;
  NearestRows nearest(q, 4, Similarity::dot);
  nearest.add(c);
  EXPECT_EQ(hits_of(nearest).indices, (RowMajor<std::int64_t>(1, 4) << 70, 0, 1, 2).finished());
}

TEST(NearestRows, ZeroRowsHaveSimilarityZero) {
  const Matrix q = (Matrix(2, 2) << 0, 0, 1, 0).finished();
  const Matrix c = (Matrix(3, 2) << 0, 0, -1, 0, 1, 1).finished();
  NearestRows nearest(q, 3, Similarity::cosine);
  nearest.add(c);
  const Hits hits = hits_of(nearest);
  EXPECT_EQ(hits.scores.row(0), Matrix::Zero(1, 3));
  EXPECT_EQ(hits.indices.row(1), (RowMajor<std::int64_t>(1, 3) << 2, 0, 1).finished());
}

TEST(NearestRows, NaNComesLast) {
  const Matrix q = Matrix::Ones(1, 1);
  Matrix c(4, 1);
  c << std::numeric_limits<float>::quiet_NaN(), -3, 2, std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t k : {2, 3}) {
    NearestRows nearest(q, k, Similarity::dot);
    nearest.add(c);
    EXPECT_EQ(hits_of(nearest).indices.leftCols(2), (RowMajor<std::int64_t>(1, 2) << 2, 1).finished());
  }
}

TEST(NearestRows, DoesNotDependOnThreads) {
  const int before = num_threads();
  const Matrix q = random_matrix(50, 16, 1), c = random_matrix(3000, 16, 2);
  std::vector<RowMajor<std::int64_t>> actual;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    NearestRows nearest(q, 5, Similarity::cosine);
    nearest.add(c);
    actual.push_back(hits_of(nearest).indices);
  }
  set_num_threads(before);
  EXPECT_EQ(actual[0], actual[1]);
}

TEST(NearestRows, RefusesInvalidArguments) {
  const Matrix q = random_matrix(2, 4, 1), c = random_matrix(3, 5, 2);
  EXPECT_THROW(NearestRows(q, 0, Similarity::dot), InvalidInput);
  NearestRows nearest(q, 1, Similarity::dot);
  EXPECT_THROW(nearest.add(c), InvalidInput);
}

TEST(Similarities, OfVeryLargeAndVerySmallRows) {
  const Matrix a = random_matrix(6, 8, 1), b = random_matrix(5, 8, 2);
  Matrix expected(6, 5), actual(6, 5);
  similarities(a, b, Similarity::cosine, expected);
  NearestRows plain(a, 5, Similarity::cosine);
  plain.add(b);
  const auto hits = hits_of(plain);
  for (const float of_a : {1e-35F, 1e-20F, 1.0F, 1e20F, 1e36F}) {
    for (const float of_b : {1e-35F, 1e-20F, 1.0F, 1e20F, 1e36F}) {
      const Matrix large = a * of_a;
      Matrix small = b * of_b;
      small.row(3) = b.row(3);  // rows of different lengths
      similarities(large, small, Similarity::cosine, actual);
      EXPECT_LT((actual - expected).cwiseAbs().maxCoeff(), 1e-5F) << of_a << " and " << of_b;
      NearestRows nearest(large, 5, Similarity::cosine);
      nearest.add(small);
      EXPECT_EQ(hits_of(nearest).indices, hits.indices);
      EXPECT_LT((hits_of(nearest).scores - hits.scores).cwiseAbs().maxCoeff(), 1e-5F);
      normalize_rows(small);
      EXPECT_LT((small.rowwise().norm().array() - 1).abs().maxCoeff(), 1e-5F);
    }
  }
}

TEST(Similarities, CoverAllPairs) {
  Matrix a = random_matrix(5, 3, 1), b = random_matrix(4, 3, 2);
  a.row(2).setZero();
  Matrix dot(5, 4), cosine(5, 4);
  similarities(a, b, Similarity::dot, dot);
  similarities(a, b, Similarity::cosine, cosine);
  EXPECT_LT((dot - a * b.transpose()).cwiseAbs().maxCoeff(), 1e-5F);
  normalize_rows(a);
  normalize_rows(b);
  EXPECT_LT((cosine - a * b.transpose()).cwiseAbs().maxCoeff(), 1e-5F);
  EXPECT_EQ(a.row(2), Matrix::Zero(1, 3));
  EXPECT_NEAR(b.row(1).norm(), 1, 1e-6);
}

}  // namespace
}  // namespace sentencode
