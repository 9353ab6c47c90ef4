#include "sentencode/models/context.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "sentencode/error.h"
#include "sentencode/models/cnn_lstm_context.h"
#include "sentencode/models/fast_sent.h"
#include "sentencode/models/skip_thoughts.h"

namespace sentencode::models {
namespace {

training::TokenTensors field_of(const at::Tensor& ids, const at::Tensor& lengths) {
  const auto bare = Sequences::of(at::zeros({ids.size(0), ids.size(1), 0}), lengths);
  return {ids, lengths, bare.mask, lengths.sum().item<std::int64_t>(), bare.full};
}

/// A batch of two sentences with `targets` fields of words to predict.
training::TensorBatch batch_with(std::size_t targets) {
  training::TensorBatch batch;
  batch.size = 2;
  batch.fields.push_back(
      field_of(at::tensor({5, 4, 9, 3, 7, 2}, at::kLong).view({2, 3}), at::tensor({3, 1}, at::kLong)));
  for (std::size_t i = 0; i < targets; ++i) {
    batch.fields.push_back(field_of(at::tensor({4, 2, 8, 10, 6, 7, 1, 1}, at::kLong).view({2, 4}),
                                    at::tensor({4, 2}, at::kLong)));
  }
  return batch;
}

nn::WordWriterOptions few_words(bool tied) {
  return {.words = 11, .features = 6, .begin = 0, .end = 1, .trainable_words = true, .tied = tied};
}

class ContextDecoders : public testing::TestWithParam<ContextDecoding> {};

TEST_P(ContextDecoders, StepsEqualForward) {
  at::manual_seed(0);
  ContextOptions options{.words = few_words(true), .hidden = 3};
  options.decoder = {.kind = GetParam(), .predict = 5, .channels = 7, .inner = 4, .window = 2};
  ContextNetwork network(options);
  const at::NoGradGuard guard;
  const auto batch = batch_with(1);
  const auto& words = batch.fields[1];
  const Sequences sentences =
      Sequences::of(network.writer().vectors(batch.fields[0].ids), batch.fields[0].lengths);
  const at::Tensor z = network.encode(sentences);  // [2, 12]
  ASSERT_EQ(z.sizes(), at::IntArrayRef({2, network.dim()}));
  const Sequences before =
      Sequences::of(network.writer().vectors(network.writer().before(words.ids)), words.lengths);
  const at::Tensor u = network.decode(z, before);  // [2, T, 6]
  auto [memory, cache] = network.start({z});
  at::Tensor ids = at::zeros({2}, at::kLong);
  for (std::int64_t t = 0; t < 4; ++t) {
    const nn::DecoderStep step = network.step(ids, memory, cache);
    cache = step.cache;
    const at::Tensor there = words.mask.select(1, t).unsqueeze(1);  // [2, 1]
    EXPECT_TRUE(at::allclose(step.logits * there, network.writer().logits(u.select(1, t)) * there, 0, 1e-5));
    ids = words.ids.select(1, t);
  }
  EXPECT_EQ(network.loss(batch).count, 6);
}

INSTANTIATE_TEST_SUITE_P(All, ContextDecoders,
                         testing::Values(ContextDecoding::cnn, ContextDecoding::rnn,
                                         ContextDecoding::autoregressive_cnn,
                                         ContextDecoding::autoregressive_rnn));

TEST(ContextNetwork, RequiresItsFields) {
  ContextNetwork network({.words = few_words(true), .hidden = 3});
  EXPECT_ANY_THROW(network.loss(batch_with(0)));
  EXPECT_ANY_THROW(network.loss(batch_with(2)));
  ContextOptions nothing{.words = few_words(true)};
  nothing.decoder.predict = 0;
  EXPECT_THROW(ContextNetwork{nothing}, InvalidInput);
}

TEST(SkipThoughtsNetwork, ReportsTheLossesOfBothDecoders) {
  at::manual_seed(0);
  for (const bool tied : {false, true}) {
    SkipThoughtsNetwork network({.words = few_words(tied), .hidden = 8, .bidirectional = true});
    const training::Loss loss = network.loss(batch_with(2));
    EXPECT_EQ(loss.count, 12);
    ASSERT_EQ(loss.figures.sizes(), at::IntArrayRef({2, 2}));
    EXPECT_NEAR(loss.figures.select(1, 0).sum().item<double>(), loss.sum.item<double>(), 1e-3);
    loss.sum.backward();
    for (const auto& item : network.named_parameters()) {
      EXPECT_TRUE(item.value().grad().defined()) << item.key();
    }
  }
  EXPECT_THROW(SkipThoughtsNetwork({.words = few_words(false), .hidden = 7, .bidirectional = true}),
               InvalidInput);
}

TEST(FastSentNetwork, ReportsTheLossOfEachSentence) {
  at::manual_seed(0);
  for (const std::int64_t sampled : {0, 5}) {
    auto words = few_words(false);
    words.sampled_words = sampled;
    FastSentNetwork network({.words = words, .autoencode = true});
    EXPECT_EQ(network.figures().size(), 3U);
    const training::Loss loss = network.loss(batch_with(2));
    EXPECT_EQ(loss.count, 16);
    EXPECT_EQ(loss.right.defined(), sampled == 0);
    ASSERT_EQ(loss.figures.sizes(), at::IntArrayRef({3, 2}));
    EXPECT_NEAR(loss.figures.select(1, 0).sum().item<double>(), loss.sum.item<double>(), 1e-3);
    loss.sum.backward();
    for (const auto& item : network.named_parameters()) {
      EXPECT_TRUE(item.value().grad().defined()) << item.key();
    }
  }
  FastSentNetwork network({.words = few_words(true)});
  EXPECT_ANY_THROW(network.loss(batch_with(1)));
}

TEST(CNNLSTMContextNetworks, ReadTheirFields) {
  at::manual_seed(0);
  const CNNLSTMContextOptions options{.words = few_words(true), .layers = {.hidden = 8, .filters = 3}};
  CompositeCNNNetwork composite(options);
  const training::Loss loss = composite.loss(batch_with(1));
  EXPECT_EQ(loss.count, 10);
  ASSERT_EQ(loss.figures.sizes(), at::IntArrayRef({2, 2}));
  EXPECT_NEAR(loss.figures.select(1, 0).sum().item<double>(), loss.sum.item<double>(), 1e-3);
  EXPECT_ANY_THROW(composite.loss(batch_with(0)));
  EXPECT_ANY_THROW(composite.loss(batch_with(2)));
  HierarchicalCNNNetwork hierarchical(options);
  EXPECT_EQ(hierarchical.loss(batch_with(1)).count, 6);
  const training::Loss paragraph = hierarchical.loss(batch_with(3));
  EXPECT_EQ(paragraph.count, 18);
  paragraph.sum.backward();
  for (const auto& item : hierarchical.named_parameters()) {
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
  EXPECT_ANY_THROW(hierarchical.loss(batch_with(0)));
}

}  // namespace
}  // namespace sentencode::models
