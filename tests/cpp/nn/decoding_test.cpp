#include "sentencode/nn/decoding.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nn/markov.h"

namespace sentencode::nn {
namespace {

// After 1, word 2 is more likely, but the sentence with word 3 is more likely as a whole.
at::Tensor greedy_trap() {
  return at::tensor({1.F, 0.F, 0.F, 0.F,      //
                     0.F, 0.F, 0.6F, 0.4F,    //
                     0.3F, 0.3F, 0.2F, 0.2F,  //
                     0.9F, 0.1F, 0.F, 0.F})
      .view({4, 4});
}

TEST(Decoding, BeamSearchIsBetterThanGreedySearch) {
  Markov decoder(greedy_trap());
  const auto first = at::tensor({1}, at::kLong);
  const auto greedy = greedy_search(decoder, {}, first, {0, 1});
  EXPECT_EQ(greedy.ids.item<std::int64_t>(), 2);
  const auto beam = beam_search(decoder, {}, first, {0, 4}, {2, 2, 0});
  EXPECT_EQ(beam.ids[0][0][0].item<std::int64_t>(), 3);
  EXPECT_NEAR(beam.scores[0][0].item<double>(), std::log(0.4 * 0.9), 1e-6);
  EXPECT_NEAR(beam.scores[0][1].item<double>(), std::log(0.6 * 0.3), 1e-6);
}

TEST(Decoding, DoesNotReturnImpossibleHypotheses) {
  Markov decoder(greedy_trap());
  const auto decoded = beam_search(decoder, {}, at::tensor({0}, at::kLong), {0, 4}, {3, 3, 1});
  EXPECT_EQ(decoded.lengths[0][0].item<std::int64_t>(), 0);
  EXPECT_EQ(decoded.lengths[0][1].item<std::int64_t>(), -1);
}

TEST(Decoding, SamplesDependOnTheSeed) {
  Markov decoder(greedy_trap());
  const auto first = at::full({16}, 1, at::kLong);
  const auto one = sample(decoder, {}, first, {0, 9}, {1, 0, 1, 4}).ids;
  EXPECT_TRUE(at::equal(one, sample(decoder, {}, first, {0, 9}, {1, 0, 1, 4}).ids));
  EXPECT_FALSE(at::equal(one, sample(decoder, {}, first, {0, 9}, {1, 0, 1, 5}).ids));
}

TEST(Decoding, TopPSamplesLikelyWords) {
  Markov decoder(greedy_trap());
  const auto first = at::full({64}, 1, at::kLong);
  const auto all = sample(decoder, {}, first, {0, 1}, {1, 0, 1, 4}).ids;
  EXPECT_TRUE((all == 3).any().item<bool>());
  const auto some = sample(decoder, {}, first, {0, 1}, {1, 0, 0.5, 4}).ids;  // 2 has 0.6
  EXPECT_TRUE((some == 2).all().item<bool>());
  EXPECT_THROW(sample(decoder, {}, first, {0, 1}, {1, 0, 0, 4}), c10::ValueError);
}

TEST(Decoding, AlignmentsBelongToTheirSentence) {
  Markov decoder(greedy_trap());
  const auto first = at::tensor({1, 3, 1}, at::kLong);
  const auto weights = at::tensor({1.F, 2.F, 3.F}).view({3, 1});
  for (const std::int64_t width : {1, 3}) {
    const auto decoded = width == 1 ? greedy_search(decoder, {weights}, first, {0, 4})
                                    : beam_search(decoder, {weights}, first, {0, 4}, {width, 2, 0});
    ASSERT_EQ(decoded.alignments.sizes(), at::IntArrayRef({3, decoded.ids.size(1), decoded.ids.size(2), 4}));
    for (std::int64_t b = 0; b < 3; ++b) {
      const auto words = decoded.lengths[b][0].item<std::int64_t>();
      std::int64_t previous = first[b].item<std::int64_t>();
      for (std::int64_t t = 0; t < words; ++t) {
        EXPECT_EQ(decoded.alignments[b][0][t][previous].item<float>(), static_cast<float>(b + 1));
        EXPECT_EQ(decoded.alignments[b][0][t].sum().item<float>(), static_cast<float>(b + 1));
        previous = decoded.ids[b][0][t].item<std::int64_t>();
      }
      EXPECT_EQ(decoded.alignments[b][0].slice(0, words).sum().item<float>(), 0);
    }
  }
  EXPECT_FALSE(greedy_search(decoder, {}, first, {0, 4}).alignments.defined());
}

TEST(Decoding, ScoreEqualsThatOfTheSearch) {
  Markov decoder(greedy_trap());
  const auto first = at::tensor({1, 1}, at::kLong);
  const auto decoded = beam_search(decoder, {}, first, {0, 4}, {2, 1, 0});
  const auto ids = at::tensor({3, 0, 2, 0}, at::kLong).view({2, 2});
  const auto scores = score(decoder, {}, first, ids, at::tensor({2, 1}, at::kLong));
  EXPECT_NEAR(scores[0].item<double>(), decoded.scores[0][0].item<double>(), 1e-6);
  EXPECT_NEAR(scores[1].item<double>(), std::log(0.6), 1e-6);  // without its end
}

}  // namespace
}  // namespace sentencode::nn
