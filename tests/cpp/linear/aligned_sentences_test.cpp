#include "sentencode/linear/aligned_sentences.h"

#include <gtest/gtest.h>

#include <vector>

#include "linear/fitted.h"

namespace sentencode {
namespace {

TEST(AlignedSentences, PutsLongerSentencesFirst) {
  RaggedIds ids;
  ids.ids = {0, 1, 2, 3, 4, 5};
  ids.offsets = {0, 1, 1, 4, 6};  // [0], [], [1 2 3], [4 5]
  const AlignedSentences rows(ids, 0, 4, Reading::forward, AlignedSentences::End::last);
  EXPECT_EQ(rows.size(), 4);
  EXPECT_EQ(rows.longest(), 3);
  EXPECT_EQ(rows.sentence(0), 2);
  EXPECT_EQ(rows.sentence(1), 3);
  EXPECT_EQ(rows.sentence(2), 0);
  EXPECT_EQ(rows.sentence(3), 1);
  EXPECT_EQ(rows.size_at(0), 3);
  EXPECT_EQ(rows.size_at(1), 2);
  EXPECT_EQ(rows.size_at(2), 1);
  EXPECT_EQ(rows.size_at(3), 0);

  Example example(2);
  const WeightedWords words = example.words();
  const auto expect = [&](Reading reading, AlignedSentences::End at, std::vector<std::int32_t> order) {
    const Matrix x = AlignedSentences(ids, 0, 4, reading, at).words(words, {}, 0, 3);
    const MatrixD expected = example.x(order);
    EXPECT_LE(largest(x.cast<double>() - expected), 1e-6);
  };
  using End = AlignedSentences::End;
  expect(Reading::forward, End::last, {3, 5, 0, 2, 4, 1});
  expect(Reading::forward, End::first, {1, 4, 0, 2, 5, 3});
  expect(Reading::backward, End::last, {1, 4, 0, 2, 5, 3});
  expect(Reading::backward, End::first, {3, 5, 0, 2, 4, 1});
}

}  // namespace
}  // namespace sentencode
