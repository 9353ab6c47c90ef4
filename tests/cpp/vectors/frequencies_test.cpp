#include "sentencode/vectors/frequencies.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sentencode/error.h"
#include "temporary_folder.h"
#include "vectors/tables.h"

namespace sentencode {
namespace {

Vocabulary counted_as(std::initializer_list<std::string_view> words,
                      const std::vector<std::int64_t>& counts) {
  return {strings(words), counts};
}

std::shared_ptr<const WordVectors> vectors_of(std::initializer_list<std::string_view> words,
                                              std::vector<std::int64_t> counts = {},
                                              OutOfVocabulary oov = OutOfVocabulary::skip) {
  const Matrix rows = Matrix::Ones(static_cast<Eigen::Index>(words.size()), 2);
  const ConstMatrixView view(rows.data(), rows.rows(), 2, Eigen::OuterStride<>(2));
  return WordVectors::from_array(strings(words), view, counts, Storage::float32, oov);
}

TEST(Frequencies, ComeFromACountedVocabulary) {
  const Vocabulary counted = counted_as({"the", "cat", "zebra"}, {60, 30, 10});
  const auto f = Frequencies::from_vocabulary(
      *vectors_of({"cat", "unseen", "The", "the", "\xff"}, {}, OutOfVocabulary::zero), counted);
  EXPECT_EQ(f.probability, (std::vector<double>{0.3, 0.0, 0.6, 0.6, 0.0, 0.0}));
  EXPECT_EQ(f.counted, (std::vector<double>{0.6, 0.3, 0.1}));
  EXPECT_THROW_WITH(Frequencies::from_vocabulary(*vectors_of({"a"}), counted_as({}, {})), InvalidInput,
                    "no word was counted");
}

TEST(Frequencies, AddUpCasesForALowerCasedTable) {
  const Vocabulary counted = counted_as({"the", "The", "\xc3\x89t\xc3\xa9"}, {50, 30, 20});
  const auto f = Frequencies::from_vocabulary(*vectors_of({"the", "\xc3\xa9t\xc3\xa9"}), counted);
  EXPECT_EQ(f.probability, (std::vector<double>{0.8, 0.2}));
  EXPECT_EQ(f.counted, (std::vector<double>{0.8, 0.2}));
}

TEST(Frequencies, ComeFromTheCountsOfTheVectors) {
  const auto f = Frequencies::from_counts(*vectors_of({"a", "b", "c"}, {6, 0, 2}, OutOfVocabulary::mean));
  EXPECT_EQ(f.probability, (std::vector<double>{0.75, 0.0, 0.25, 0.0}));
  EXPECT_THROW_WITH(Frequencies::from_counts(*vectors_of({"a"})), InvalidInput, "carry no counts");
  EXPECT_THROW_WITH(Frequencies::from_counts(*vectors_of({"a"}, {0})), InvalidInput, "nor all zero");
  EXPECT_THROW_WITH(Frequencies::from_counts(*vectors_of({"a", "b"}, {3, -1})), InvalidInput,
                    "not be negative");
}

TEST(Frequencies, FollowZipfsLawWithoutCounts) {
  const auto f = Frequencies::zipf(*vectors_of({"a", "b", "c"}));
  const double total = 1 / 3.7 + 1 / 4.7 + 1 / 5.7;
  EXPECT_DOUBLE_EQ(f.probability[0], 1 / 3.7 / total);
  EXPECT_DOUBLE_EQ(f.probability[2], 1 / 5.7 / total);
}

TEST(SifWeights, FollowTheFormula) {
  const Frequencies f{.probability = {0.0, 1e-3, 0.5}, .counted = {}};
  const auto weights = sif_weights(f, 1e-3);
  EXPECT_FLOAT_EQ(weights[0], 1.0F);
  EXPECT_FLOAT_EQ(weights[1], 0.5F);
  EXPECT_FLOAT_EQ(weights[2], 1e-3F / 0.501F);
  for (const double a : {0.0, -1.0, std::nan("")})
    EXPECT_THROW_WITH(sif_weights(f, a), InvalidInput, "a must be");
}

TEST(UsifWeights, FollowTheFormula) {
  // V = 4, n = 2: the threshold is 1 - 0.75^2 = 0.4375, alpha = 1/4, a = 0.75 / (0.25 * 2) = 1.5.
  const Frequencies f{.probability = {0.5, 0.2, 0.0}, .counted = {0.5, 0.25, 0.2, 0.05}};
  const auto weights = usif_weights(f, 2.0);
  EXPECT_FLOAT_EQ(weights[0], 1.5F / (0.75F + 0.5F));
  EXPECT_FLOAT_EQ(weights[1], 1.5F / (0.75F + 0.2F));
  EXPECT_FLOAT_EQ(weights[2], 1.5F / (0.75F + 0.05F)) << "a word never counted takes the smallest p";
  EXPECT_THROW_WITH(usif_weights(f, 0.5), InvalidInput, "at least 1");
  EXPECT_THROW_WITH(usif_weights({}, 11.0), InvalidInput, "no word was counted");
}

TEST(UsifWeights, AreFiniteWhereNoWordIsFrequent) {
  const Frequencies even{.probability = {0.25, 0.25, 0.25, 0.25}, .counted = {0.25, 0.25, 0.25, 0.25}};
  for (const float weight : usif_weights(even, 11.0)) EXPECT_FLOAT_EQ(weight, 1.5F / (0.75F + 0.25F));
  const Frequencies one{.probability = {1.0}, .counted = {1.0}};
  EXPECT_EQ(usif_weights(one, 11.0), std::vector<float>{2.0F});
}

}  // namespace
}  // namespace sentencode
