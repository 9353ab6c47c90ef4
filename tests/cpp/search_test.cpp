#include "sentencode/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/quantization.h"

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

/// Rows in a precision, with their ranges.
struct StoredCorpus {
  StoredCorpus(const Matrix& rows, Precision precision)
      : ranges((Matrix(2, rows.cols()) << rows.colwise().minCoeff(), rows.colwise().maxCoeff()).finished()) {
    const std::int64_t stride = stored_bytes(precision, rows.cols());
    bytes.resize(static_cast<std::size_t>(rows.rows() * stride));
    const Ranges* used = has_ranges(precision) ? &ranges : nullptr;
    quantize(rows, precision, used, bytes.data(), stride);
    view = {bytes.data(), rows.rows(), rows.cols(), stride, precision, used};
  }
  StoredRows part(std::int64_t first, std::int64_t count) const {
    StoredRows rows = view;
    rows.data = view.row(first);
    rows.rows = count;
    return rows;
  }
  Ranges ranges;
  std::vector<std::byte> bytes;
  StoredRows view;
};

TEST(NearestRows, ScoresDoNotDependOnThreadsBlocksOrOtherQueries) {
  const int before = num_threads();
  const Matrix q = random_matrix(50, 27, 1), c = random_matrix(3000, 27, 2);
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8, Precision::binary}) {
    const StoredCorpus stored(c, precision);
    NearestRows whole(q, 5, Similarity::cosine);
    whole.add(stored.view);
    const Hits expected = hits_of(whole);
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      for (std::int64_t first = 0, count = 1; first < q.rows(); first += count, count = 2 * count + 1) {
        count = std::min<std::int64_t>(count, q.rows() - first);
        NearestRows nearest(q.middleRows(first, count), 5, Similarity::cosine);
        for (std::int64_t row = 0, rows = count; row < 3000; row += rows, rows = 3 * rows + 1) {
          nearest.add(stored.part(row, std::min<std::int64_t>(rows, 3000 - row)));
        }
        const Hits actual = hits_of(nearest);
        EXPECT_EQ(actual.indices, expected.indices.middleRows(first, count)) << name_of(precision);
        EXPECT_EQ(actual.scores, expected.scores.middleRows(first, count)) << name_of(precision);
      }
    }
  }
  set_num_threads(before);
}

TEST(NearestRows, OfPackedBits) {
  for (const std::int64_t dim : {1, 7, 8, 64, 65, 148}) {
    const Matrix q = random_matrix(20, dim, 1), c = random_matrix(300, dim, 2);
    const auto signs = [](const Matrix& rows) -> Matrix {
      return (rows.array() > 0)
          .select(Matrix::Ones(rows.rows(), rows.cols()), -Matrix::Ones(rows.rows(), rows.cols()));
    };
    for (const auto precision : {Precision::binary, Precision::ubinary}) {
      for (const auto similarity : {Similarity::cosine, Similarity::dot}) {
        const StoredCorpus stored(c, precision);
        NearestRows bits(q, 10, similarity), floats(signs(q), 10, Similarity::dot);
        bits.add(stored.view);
        floats.add(signs(c));
        EXPECT_EQ(hits_of(bits).indices, hits_of(floats).indices) << dim;
        const float scale = similarity == Similarity::dot ? 1.0F : static_cast<float>(dim);
        EXPECT_LT((scale * hits_of(bits).scores - hits_of(floats).scores).cwiseAbs().maxCoeff(),
                  1e-4F * static_cast<float>(dim));
      }
    }
  }
  std::byte row{1};  // of 8 dimensions
  NearestRows nearest(Matrix::Ones(1, 7), 1, Similarity::dot);
  EXPECT_THROW(nearest.add(StoredRows{&row, 1, 7, 1, Precision::ubinary}), InvalidInput);
}

TEST(ExactSimilarities, AreThoseOfDouble) {
  Matrix q = random_matrix(7, 20, 1), c = random_matrix(30, 20, 2);
  c.row(3).setZero();
  c(5, 1) = std::numeric_limits<float>::quiet_NaN();
  c.row(8) = c.row(9);
  RowMajor<std::int64_t> candidates =
      RowMajor<std::int64_t>::NullaryExpr(7, 5, [](auto i, auto j) { return 3 + (i + j) % 8; });
  for (const auto similarity : {Similarity::cosine, Similarity::dot}) {
    MatrixD out(7, 5);
    exact_similarities(q, c, candidates, similarity, out);
    for (std::int64_t i = 0; i < 7; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) {
        const auto row = c.row(candidates(i, j)).cast<double>();
        double expected = q.row(i).cast<double>().dot(row);
        if (similarity == Similarity::cosine && expected != 0)
          expected /= q.row(i).cast<double>().norm() * row.norm();
        if (std::isnan(expected)) {
          EXPECT_EQ(out(i, j), -std::numeric_limits<double>::infinity());
        } else {
          EXPECT_NEAR(out(i, j), expected, 1e-12);
        }
      }
    }
  }
}

TEST(NearestRows, RefusesInvalidArguments) {
  const Matrix q = random_matrix(2, 4, 1), c = random_matrix(3, 5, 2);
  EXPECT_THROW(NearestRows(q, 0, Similarity::dot), InvalidInput);
  NearestRows nearest(q, 1, Similarity::dot);
  EXPECT_THROW(nearest.add(c), InvalidInput);
  const StoredCorpus other(random_matrix(3, 5, 2), Precision::int8),
      fitting(random_matrix(3, 4, 2), Precision::int8);
  StoredRows mixed = fitting.view;
  mixed.ranges = other.view.ranges;
  EXPECT_THROW(nearest.add(mixed), InvalidInput);
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
