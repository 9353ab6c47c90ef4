#include "sentencode/linear/prefix_gram.h"

#include <gtest/gtest.h>

#include "linear/example.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

RaggedIds part(const RaggedIds& sentences, std::int64_t begin, std::int64_t end) {
  RaggedIds result;
  for (std::int64_t i = begin; i < end; ++i) {
    result.ids.insert(result.ids.end(), sentences[i].begin(), sentences[i].end());
    result.offsets.push_back(std::ssize(result.ids));
  }
  return result;
}

PrefixGram gram_of(const RaggedIds& sentences, const WeightedWords& words, Reading reading,
                   std::int64_t max_length = 64) {
  PrefixGram gram(reading, words.dim(), max_length);
  gram.add(sentences);
  return gram;
}

MatrixD covariance(PrefixGram gram, const WeightedWords& words, const std::optional<VectorD>& centre = {}) {
  gram.absorb(words);
  return gram.covariance<double>(centre);
}

double relative_difference(const MatrixD& a, const MatrixD& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return 1e30;
  return (a - b).cwiseAbs().maxCoeff() / std::max(1e-30, b.cwiseAbs().maxCoeff());
}

TEST(PrefixGram, EqualsTheGramMatrixOfThePapersDataMatrix) {
  for (const std::int64_t dim : {3, 8, 130}) {  // 130: products in float
    Example example(dim);
    const RaggedIds sentences = example.ids(40, 0, 7);
    const WeightedWords words = example.words();
    const VectorD zero = VectorD::Zero(dim), mean = example.mean(sentences);
    for (const Reading reading : kReadings) {
      const MatrixD xi = example.xi(sentences, reading, zero), centred = example.xi(sentences, reading, mean);
      const PrefixGram gram = gram_of(sentences, words, reading);
      const double tolerance = dim < 128 ? 1e-13 : 1e-6;
      EXPECT_LE(relative_difference(gram.mean(words), mean), 1e-7);
      EXPECT_LE(relative_difference(covariance(gram, words), xi.transpose() * xi), tolerance) << dim;
      EXPECT_LE(relative_difference(covariance(gram, words, mean), centred.transpose() * centred),
                tolerance * 10)
          << dim;
    }
  }
}

TEST(PrefixGram, RefusesSizesBeyondMemory) {
  Example example(130);
  const RaggedIds few = example.ids(40, 1, 7);
  RaggedIds one;
  one.ids.assign(10'000, few.ids[0]);
  one.offsets.push_back(10'000);
  PrefixGram gram = gram_of(one, example.words(), Reading::forward, 10'000);
  EXPECT_THROW_WITH(gram.absorb(example.words()), InvalidInput,
                    "a sentence of 10000 known words of 130 dimensions needs 13521 GB");
}

TEST(PrefixGram, MeanIncludesWaitingSentences) {
  Example example(5);
  const RaggedIds sentences = example.ids(40, 0, 7);
  PrefixGram gram = gram_of(sentences, example.words(), Reading::forward);
  const VectorD waiting = gram.mean(example.words());
  gram.absorb(example.words());
  EXPECT_LE(relative_difference(gram.mean(example.words()), waiting), 1e-14);
}

TEST(PrefixGram, CountsSentencesAndTokens) {
  Example example(2);
  const RaggedIds sentences = example.ids(50, 0, 9);
  const PrefixGram gram = gram_of(sentences, example.words(), Reading::forward);
  std::int64_t not_empty = 0;
  for (std::int64_t i = 0; i < sentences.size(); ++i) not_empty += !sentences[i].empty();
  EXPECT_EQ(gram.sentences(), not_empty);
  EXPECT_EQ(gram.tokens(), std::ssize(sentences.ids));
  EXPECT_EQ(gram.longest(), 9);
}

TEST(PrefixGram, DoesNotDependOnBatches) {
  // More tokens than may wait, so that batches are added to the sums in between.
  Example example(2, 5);
  const RaggedIds sentences = example.ids(PrefixGram::kWaiting / 4, 1, 9);
  ASSERT_GT(std::ssize(sentences.ids), PrefixGram::kWaiting);
  const WeightedWords words = example.words();
  PrefixGram whole = gram_of(sentences, words, Reading::forward);
  EXPECT_TRUE(whole.batch_is_full());
  whole.absorb_batches(words);
  EXPECT_FALSE(whole.only_waiting());
  EXPECT_FALSE(whole.batch_is_full());
  PrefixGram streamed(Reading::forward, 2, 64);
  for (std::int64_t begin = 0; begin < sentences.size(); begin += 999) {
    streamed.add(part(sentences, begin, std::min(begin + 999, sentences.size())));
    streamed.absorb_batches(words);
  }
  EXPECT_EQ(covariance(whole, words), covariance(streamed, words)) << "not bit by bit the same";
}

TEST(PrefixGram, MergedPartsEqualTheWhole) {
  Example example(4);
  const RaggedIds sentences = example.ids(60, 0, 8);
  const WeightedWords words = example.words();
  for (const Reading reading : kReadings) {
    const PrefixGram whole = gram_of(sentences, words, reading);
    for (const bool absorb_left : {false, true}) {
      for (const bool absorb_right : {false, true}) {
        PrefixGram left = gram_of(part(sentences, 0, 13), words, reading);
        PrefixGram right = gram_of(part(sentences, 13, 60), words, reading);
        if (absorb_left) left.absorb(words);
        if (absorb_right) right.absorb(words);
        left.merge(right);
        EXPECT_EQ(left.sentences(), whole.sentences());
        EXPECT_EQ(left.tokens(), whole.tokens());
        EXPECT_EQ(left.longest(), whole.longest());
        const VectorD mean = whole.mean(words);
        EXPECT_LE(relative_difference(covariance(left, words), covariance(whole, words)), 1e-13);
        EXPECT_LE(relative_difference(covariance(left, words, mean), covariance(whole, words, mean)), 1e-12);
      }
    }
    PrefixGram twice = whole;
    twice.merge(twice);
    EXPECT_LE(relative_difference(covariance(twice, words), 2 * covariance(whole, words)), 1e-13);
    EXPECT_EQ(twice.tokens(), 2 * whole.tokens());
  }
}

TEST(PrefixGram, UsesTheFirstWordsOfLongSentences) {
  Example example(3);
  const RaggedIds sentences = example.ids(30, 2, 9);
  RaggedIds truncated;
  for (std::int64_t i = 0; i < sentences.size(); ++i) {
    const auto first = sentences[i].first(std::min<std::size_t>(4, sentences[i].size()));
    truncated.ids.insert(truncated.ids.end(), first.begin(), first.end());
    truncated.offsets.push_back(std::ssize(truncated.ids));
  }
  for (const Reading reading : kReadings) {
    EXPECT_EQ(covariance(gram_of(sentences, example.words(), reading, 4), example.words()),
              covariance(gram_of(truncated, example.words(), reading), example.words()));
  }
}

TEST(PrefixGram, StatesRoundTrip) {
  Example example(3);
  const WeightedWords words = example.words();
  PrefixGram gram = gram_of(example.ids(30, 0, 6), words, Reading::backward);
  gram.absorb(words);
  gram.add(example.ids(10, 0, 9));
  const PrefixGram again(gram.state());
  EXPECT_EQ(again.sentences(), gram.sentences());
  EXPECT_EQ(again.longest(), gram.longest());
  EXPECT_EQ(covariance(again, words), covariance(gram, words));
}

TEST(PrefixGram, RefusesInconsistentStates) {
  Example example(3);
  PrefixGram gram = gram_of(example.ids(30, 1, 6), example.words(), Reading::forward);
  gram.absorb(example.words());
  gram.add(example.ids(3, 1, 6));
  const auto refused = [&](const auto& change, const char* message) {
    PrefixGram::State state = gram.state();
    change(state);
    EXPECT_THROW_WITH(PrefixGram(std::move(state)), InvalidInput, message);
  };
  refused([](auto& s) { s.max_length = 5; }, "6 lengths, but max_length is 5");
  refused([](auto& s) { s.dim = 4; }, "gram must be [84, 4], got [63, 3]");
  refused([](auto& s) { s.gram.conservativeResize(60, 3); }, "gram must be [63, 3], got [60, 3]");
  refused([](auto& s) { s.sums.conservativeResize(20, 3); }, "sums must be [21, 3], got [20, 3]");
  refused([](auto& s) { s.gram(5, 1) = NAN; }, "must be finite");
  refused([](auto& s) { s.counts[2] = -1; }, "-1 sentences of length 3");
  refused([](auto& s) { s.counts[2] += 1; }, "are claimed");
  refused([](auto& s) { s.tokens += 1; }, "are claimed");
  refused([](auto& s) { s.waiting.offsets[0] = 1; }, "must run from 0 to");
  refused([](auto& s) { s.waiting.offsets.clear(); }, "must run from 0 to");
  refused([](auto& s) { s.waiting.offsets[1] = 1000; }, "a waiting sentence of length 1000");
  refused([](auto& s) { s.waiting.offsets[1] = -1000; }, "a waiting sentence of length");
}

TEST(PrefixGram, RefusesInvalidArguments) {
  Example three(3), four(4);
  PrefixGram gram(Reading::forward, 3, 10);
  gram.add(four.ids(1, 1, 2));
  EXPECT_THROW_WITH(gram.absorb(four.words()), InvalidInput, "3 dimensions, got 4");
  EXPECT_THROW_WITH(gram.merge(PrefixGram(Reading::backward, 3, 10)), InvalidInput, "direction");
  EXPECT_THROW_WITH(gram.merge(PrefixGram(Reading::forward, 3, 11)), InvalidInput, "max_length");
  EXPECT_THROW_WITH(PrefixGram(Reading::forward, 3, 0), InvalidInput, "max_length must be 1 to 10000, got 0");
}

}  // namespace
}  // namespace sentencode
