#include "sentencode/nn/conditional_gru.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "nn/on_device.h"
#include "sentencode/error.h"
#include "sentencode/nn/decoding.h"

namespace sentencode::nn {
namespace {

class ConditionalGRUOn : public OnDevice {};
ST_ON_DEVICES(ConditionalGRUOn);

TEST_P(ConditionalGRUOn, StepsEqualForward) {
  at::manual_seed(1);
  ConditionalGRU gru({4, 3, 5, 2});
  gru.to(device());
  const auto x = at::randn({2, 6, 4}).to(device()), memory = at::randn({2, 7, 5}).to(device());
  const auto mask = (at::arange(7) < at::tensor({7, 4}).view({2, 1})).to(device());
  at::Tensor state = at::randn({2, 3}).to(device());
  const auto whole = gru.forward(x, state, memory, mask);
  const auto projected = gru.project(memory, mask);
  for (std::int64_t t = 0; t < 6; ++t) {
    const auto step = gru.step(x.select(1, t), state, projected, mask);
    state = step.states;
    EXPECT_TRUE(at::allclose(step.states, whole.states.select(1, t), 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(step.contexts, whole.contexts.select(1, t), 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(step.weights, whole.weights.select(1, t), 1e-5, 1e-6));
  }
}

TEST_P(ConditionalGRUOn, WithoutAttentionTheContextIsConstant) {
  at::manual_seed(1);
  ConditionalGRU gru({4, 3, 5, 0});
  gru.to(device());
  const auto x = at::randn({2, 6, 4}).to(device()), memory = at::randn({2, 1, 5}).to(device());
  const auto state = at::randn({2, 3}).to(device());
  const auto whole = gru.forward(x, state, memory);
  EXPECT_TRUE(at::equal(whole.contexts, memory.expand({2, 6, 5})));
  // Two adjacent hypotheses per sentence.
  const auto twice = [](const at::Tensor& rows) { return rows.repeat_interleave(2, 0); };
  const auto step = gru.step(twice(x.select(1, 0)), twice(state), gru.project(memory));
  EXPECT_TRUE(at::allclose(step.states, twice(whole.states.select(1, 0)), 1e-5, 1e-6));
}

TEST(ConditionalGRU, RefusesWrongArguments) {
  EXPECT_THROW(ConditionalGRU({4, 3, 5, -1}), InvalidInput);
  EXPECT_THROW(ConditionalGRU({4, 3, 5, 0}).project(at::randn({2, 2, 5})), c10::Error);
}

/// Generates with a ConditionalGRU, whose states are the logits.
class StateDecoder : public Decoder {
 public:
  DecoderStart start(const DecoderMemory& source) override {
    const auto [keys, values] = gru_.project(source[0], source[1]);
    return {{keys, values, source[1]}, {at::zeros({source[0].size(0), 5})}};
  }
  DecoderStep step(const at::Tensor& ids, const DecoderMemory& memory, const DecoderCache& cache) override {
    const auto next =
        gru_.step(at::one_hot(ids, 5).to(at::kFloat), cache[0], {memory[0], memory[1]}, memory[2]);
    return {next.states * 9, {next.states}, next.weights};
  }

 private:
  ConditionalGRU gru_{{5, 5, 4, 3}};
};

TEST(ConditionalGRU, BeamSearchDoesNotDependOnTheBatch) {
  at::manual_seed(2);
  StateDecoder decoder;
  const auto memory = at::randn({3, 6, 4});
  const auto mask = at::arange(6) < at::tensor({6, 2, 4}).view({3, 1});
  const auto first = at::tensor({1, 2, 3}, at::kLong);
  const auto together = beam_search(decoder, {memory, mask}, first, {0, 7}, {4, 2, 0});
  for (std::int64_t b = 0; b < 3; ++b) {
    const auto alone = beam_search(decoder, {memory.slice(0, b, b + 1), mask.slice(0, b, b + 1)},
                                   first.slice(0, b, b + 1), {0, 7}, {4, 2, 0});
    EXPECT_TRUE(at::equal(alone.lengths[0], together.lengths[b]));
    EXPECT_TRUE(at::allclose(alone.scores[0], together.scores[b], 1e-5, 1e-5));
    const auto words = alone.ids.size(2);
    EXPECT_TRUE(at::equal(alone.ids[0], together.ids[b].slice(1, 0, words)));
    EXPECT_TRUE(at::allclose(alone.alignments[0], together.alignments[b].slice(1, 0, words), 1e-5, 1e-6));
  }
}

}  // namespace
}  // namespace sentencode::nn
