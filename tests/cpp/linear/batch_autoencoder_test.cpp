#include "sentencode/linear/batch_autoencoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "linear/fitted.h"

namespace sentencode {
namespace {

class BatchTest : public ::testing::TestWithParam<std::tuple<Reading, bool, bool>> {
};  // reading, centred, keep_u

TEST_P(BatchTest, ProductsEqualTheRecursion) {
  const auto [reading, centred, keep_u] = GetParam();
  Example example(6);
  const Autoencoder m = fit(example, example.ids(60, 1, 7), reading, 9, centred, keep_u);
  ASSERT_EQ(m.longest, 7);
  const BatchAutoencoder batch(m);
  RaggedIds sentences = example.ids(40, 0, 30);  // up to four times as long as those of fit
  const AlignedSentences rows(sentences, 3, 40, reading, AlignedSentences::End::last);
  Matrix sums = Matrix::Zero(37, 6);
  const Matrix h = batch.states(rows, example.words(), &sums), decoded = batch.reconstructed_sums(rows, h);
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const auto ids = sentences[rows.sentence(row)];
    ASSERT_EQ(rows.length(row), std::ssize(ids));
    const Matrix x = example.x(ids, reading).cast<float>();
    const Vector centre = centred ? m.centre : Vector(Vector::Zero(6));
    Vector expected = Vector::Zero(9);
    if (keep_u) {
      for (std::int64_t k = 0; k < std::min<std::int64_t>(7, x.rows()); ++k) {
        expected += m.u.middleCols(k * 6, 6) * (x.row(x.rows() - 1 - k).transpose() - centre);
      }
    } else if (x.rows() > 0) {
      expected = m.states(x).bottomRows(1).transpose();
    }
    EXPECT_LE((h.row(row).transpose() - expected).norm(), 2e-6 * (1 + expected.norm())) << x.rows();
    const Vector sum = (m.decode(expected, x.rows()).rowwise() - centre.transpose()).colwise().sum();
    EXPECT_LE((decoded.row(row).transpose() - sum).norm(), 5e-6 * (1 + sum.norm())) << x.rows();
    const Vector words = (x.rowwise() - centre.transpose()).colwise().sum();
    EXPECT_LE((sums.row(row).transpose() - words).norm(), 5e-6 * (1 + words.norm()));
  }
}

INSTANTIATE_TEST_SUITE_P(BatchAutoencoder, BatchTest,
                         ::testing::Combine(::testing::ValuesIn(kReadings), ::testing::Bool(),
                                            ::testing::Bool()));

TEST(BatchAutoencoder, StatesOfFullRankEqualTheProjection) {
  Example example(4);
  const RaggedIds sentences = example.ids(50, 1, 6);
  const Autoencoder m = fit(example, sentences, Reading::forward, 24, false, true);
  Autoencoder recursive = m;
  recursive.u.resize(0, 0);
  const AlignedSentences rows(sentences, 0, 50, Reading::forward, AlignedSentences::End::last);
  const Matrix by_u = BatchAutoencoder(m).states(rows, example.words(), nullptr);
  const Matrix by_recursion = BatchAutoencoder(recursive).states(rows, example.words(), nullptr);
  EXPECT_LE(largest((by_u - by_recursion).cast<double>()), 1e-5);
}

}  // namespace
}  // namespace sentencode
