#include "vectors/subwords.h"

#include <gtest/gtest.h>

#include "sentencode/error.h"
#include "sentencode/vectors/word_vectors.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 32;  // buckets for every hash

std::vector<std::int64_t> pieces(std::string_view word, std::array<std::int32_t, 2> lengths,
                                 std::int64_t buckets = kAll) {
  std::vector<std::int64_t> out{7};
  subwords_of(word, lengths, buckets, out);
  return out;
}

TEST(Subwords, AreHashedAsFastTextDoes) {
  EXPECT_EQ(pieces("a", {3, 6}), (std::vector<std::int64_t>{2359087600}));
  EXPECT_EQ(pieces("\xC3\xA9", {2, 2})[0], 672036627);          // "<é": bytes are signed
  EXPECT_EQ(pieces("\xF0\x9F\x99\x82", {1, 1})[0], 570329163);  // one character of four bytes
  EXPECT_EQ(pieces("a", {3, 3}, 1000)[0], 600);
}

TEST(Subwords, AreCharacterNGrams) {
  EXPECT_EQ(pieces("ab", {1, 1}).size(), 2U);  // not "<", not ">"
  EXPECT_EQ(pieces("ab", {1, 2}).size(), 5U);  // <a a ab b b>
  EXPECT_EQ(pieces("ab", {3, 6}).size(), 3U);  // <ab <ab> ab>
  EXPECT_EQ(pieces("\xC3\xA9\xC3\xA9", {3, 6}).size(), 3U);
  EXPECT_EQ(pieces("", {1, 3}).size(), 1U);  // <>
  EXPECT_TRUE(pieces("a", {4, 6}).empty());
  EXPECT_TRUE(pieces("abc", {3, 6}, 0).empty());
}

/// The row of each bucket is its index.
std::shared_ptr<const WordVectors> table(Storage storage) {
  constexpr std::int64_t kBuckets = 50;
  StringTable words;
  words.insert("the");
  words.insert("cat");
  const Matrix rows = Matrix::Constant(2, 3, 0.5F);
  Matrix buckets(kBuckets, 3);
  for (std::int64_t i = 0; i < kBuckets; ++i) buckets.row(i).setConstant(static_cast<float>(i));
  const auto view = [](const Matrix& m) {
    return ConstMatrixView(m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.cols()));
  };
  return WordVectors::from_array(words, view(rows), {}, storage)
      ->with_subwords({2, 3}, view(buckets))
      ->with_oov(OutOfVocabulary::subwords);
}

float expected(std::string_view word) {
  float sum = 0.0F;
  const auto buckets = pieces(word, {2, 3}, 50);
  for (const std::int64_t bucket : buckets) sum += static_cast<float>(bucket);
  return sum / static_cast<float>(buckets.size());
}

TEST(Subwords, RepresentUnknownWordsInEveryLookup) {
  for (const Storage storage : {Storage::float32, Storage::float16, Storage::int8}) {
    const auto vectors = table(storage);
    EXPECT_EQ(vectors->rows(), 3);  // the last one has the weight of words made of subwords
    std::vector<std::string> texts;
    for (int i = 0; i < 5000; ++i) texts.push_back("the unknown" + std::to_string(i) + " cat dog");
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    RaggedIds ids;
    vectors->lookup(Tokenizer(), {views, {}}, ids);
    vectors->lookup(Tokenizer(), {std::span(views).first(3), {}}, ids, 2);
    ASSERT_EQ(ids.size(), 5003);
    Vector x(3);
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      const std::int64_t number = i % 5000;
      ASSERT_EQ(ids[i].size(), i < 5000 ? 4U : 2U);
      EXPECT_EQ(ids[i][0], 0);
      EXPECT_GE(ids[i][1], vectors->rows());
      vectors->row(ids, ids[i][1], x.data());
      EXPECT_NEAR(x[0], expected("unknown" + std::to_string(number)), 0.02F) << i;
    }
    const std::vector<float> weights{1, 1, 10};
    Vector sum(3);
    vectors->sum(ids, ids[7], weights.data(), sum.data());
    EXPECT_NEAR(sum[0], 1 + 10 * (expected("unknown7") + expected("dog")), 1.0F);
  }
}

TEST(Subwords, AreSavedAndSharedByOtherTables) {
  const TemporaryFolder folder;
  const auto vectors = table(Storage::float16);
  vectors->save(folder.path("vectors"));
  const auto again = WordVectors::open(folder.path("vectors"));
  EXPECT_EQ(again->oov(), OutOfVocabulary::subwords);
  EXPECT_EQ(again->fingerprint(), vectors->fingerprint());
  EXPECT_NE(again->fingerprint(), vectors->with_storage(Storage::float32)->fingerprint());
  Vector x(3);
  for (const auto& one : {again, vectors->first(1), vectors->with_storage(Storage::int8),
                          WordVectors::from_bytes(vectors->to_bytes(), OutOfVocabulary::skip)}) {
    ASSERT_TRUE(one->row_of_subwords("dogs", x.data()));
    EXPECT_NEAR(x[0], expected("dogs"), 0.02F);
  }
  EXPECT_EQ(WordVectors::open(folder.path("vectors"), OutOfVocabulary::skip)->id("dog"), -1);
}

}  // namespace
}  // namespace sentencode
