#include "sentencode/nn/decoding.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sentencode::nn {
namespace {

/// The next word by a table of the word before.
class Markov : public Decoder {
 public:
  explicit Markov(at::Tensor p) : log_p_(p.log()) {}
  DecoderState start(const DecoderState& memory) override { return memory; }
  std::pair<at::Tensor, DecoderState> step(const at::Tensor& ids, const DecoderState& state) override {
    return {log_p_.index_select(0, ids), state};
  }

 private:
  at::Tensor log_p_;  // [V, V]
};

// From 1 the likelier word is 2, after which nothing is sure; by 3 the sentence is likelier.
at::Tensor trap() {
  return at::tensor({1.F, 0.F, 0.F, 0.F,      //
                     0.F, 0.F, 0.6F, 0.4F,    //
                     0.3F, 0.3F, 0.2F, 0.2F,  //
                     0.9F, 0.1F, 0.F, 0.F})
      .view({4, 4});
}

TEST(Decoding, ABeamFindsWhatGreedMisses) {
  Markov decoder(trap());
  const auto first = at::tensor({1}, at::kLong);
  const auto greedy = greedy_search(decoder, {}, first, {0, 1});
  EXPECT_EQ(greedy.ids.item<std::int64_t>(), 2);
  const auto beam = beam_search(decoder, {}, first, {0, 4}, {2, 2, 0});
  EXPECT_EQ(beam.ids[0][0][0].item<std::int64_t>(), 3);
  EXPECT_NEAR(beam.scores[0][0].item<double>(), std::log(0.4 * 0.9), 1e-6);
  EXPECT_NEAR(beam.scores[0][1].item<double>(), std::log(0.6 * 0.3), 1e-6);
}

TEST(Decoding, WhatIsImpossibleIsNotReturned) {
  Markov decoder(trap());
  const auto found = beam_search(decoder, {}, at::tensor({0}, at::kLong), {0, 4}, {3, 3, 1});
  EXPECT_EQ(found.lengths[0][0].item<std::int64_t>(), 0);
  EXPECT_EQ(found.lengths[0][1].item<std::int64_t>(), -1);
}

TEST(Decoding, SamplesFollowTheirSeed) {
  Markov decoder(trap());
  const auto first = at::full({16}, 1, at::kLong);
  const auto one = sample(decoder, {}, first, {0, 9}, {1, 0, 4}).ids;
  EXPECT_TRUE(at::equal(one, sample(decoder, {}, first, {0, 9}, {1, 0, 4}).ids));
  EXPECT_FALSE(at::equal(one, sample(decoder, {}, first, {0, 9}, {1, 0, 5}).ids));
}

}  // namespace
}  // namespace sentencode::nn
