// Tests of all autoencoders.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <limits>

#include "sentencode/models/autoencoder.h"
#include "sentencode/nn/embedding.h"

namespace sentencode::models {

inline AutoencoderOptions small_words() {
  return {.words = 11, .features = 6, .begin = 0, .end = 1, .trainable_words = true};
}

inline training::TensorBatch small_batch() {
  const auto ids = at::tensor({5, 4, 9, 1, 7, 1, 2, 2}, at::kLong).view({2, 4});
  const auto lengths = at::tensor({4, 2}, at::kLong);
  training::TensorBatch batch;
  batch.size = 2;
  batch.fields.push_back({ids, lengths, Sequences::of(at::zeros({2, 4, 0}), lengths).mask, 6});
  return batch;
}

inline Sequences small_sentences(Autoencoder& network) {
  const auto batch = small_batch();
  return Sequences::of(network.writer().vectors(batch.fields[0].ids), batch.fields[0].lengths);
}

/// Neither padding nor the other sentences of a batch affect an embedding.
inline void expect_no_influence_of_the_batch(Autoencoder& network) {
  const at::NoGradGuard guard;
  network.eval();
  const Sequences both = small_sentences(network);
  at::Tensor garbage = both.x.clone();
  garbage.masked_fill_(both.mask.logical_not().unsqueeze(2), std::numeric_limits<double>::quiet_NaN());
  const at::Tensor z = network.encode(Sequences::of(garbage, both.lengths));
  ASSERT_EQ(z.size(1), network.dim());
  const Sequences alone = Sequences::of(both.x.slice(0, 1).slice(1, 0, 2), at::tensor({2}, at::kLong));
  const at::Tensor embedding = network.encode(alone);
  EXPECT_TRUE(at::allclose(embedding, z.slice(0, 1), 0, 1e-6));
  const at::Tensor h = network.decode(z, network.writer().before(both));
  EXPECT_TRUE(at::allclose(network.decode(embedding, network.writer().before(alone)),
                           h.slice(0, 1).slice(1, 0, 2), 0, 1e-6));
}

/// The loss equals the log-likelihood of decoding word by word.
inline void expect_steps_to_be_teacher_forcing(Autoencoder& network) {
  const at::NoGradGuard guard;
  network.eval();
  const auto batch = small_batch();
  const auto& words = batch.fields[0];
  auto [memory, cache] = network.start({network.encode(small_sentences(network))});
  at::Tensor ids = at::zeros({2}, at::kLong);
  double sum = 0;
  for (std::int64_t t = 0; t < 4; ++t) {
    const nn::DecoderStep step = network.step(ids, memory, cache);
    cache = step.cache;
    for (const at::Tensor& part : cache) EXPECT_EQ(part.size(0), 2);
    ids = words.ids.select(1, t);
    const at::Tensor log_p = step.logits.log_softmax(1).gather(1, ids.unsqueeze(1)).squeeze(1);
    sum -= (log_p * words.mask.select(1, t)).sum().item<double>();
  }
  const training::Loss loss = network.loss(batch);
  EXPECT_NEAR(loss.sum.item<double>(), sum, 1e-4);
  EXPECT_EQ(loss.count, 6);
}

/// Every parameter has a gradient, and a small step against it decreases the loss.
inline void expect_to_learn(Autoencoder& network) {
  network.train();
  const auto loss = [&] {
    at::manual_seed(1);
    return network.loss(small_batch()).sum;
  };
  const at::Tensor before = loss();
  before.backward();
  {
    const at::NoGradGuard guard;
    for (const auto& item : network.named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      item.value().sub_(item.value().grad(), 1e-3);
    }
  }
  EXPECT_LT(loss().item<double>(), before.item<double>());
}

inline void expect_to_be_an_autoencoder(Autoencoder& network) {
  expect_no_influence_of_the_batch(network);
  expect_steps_to_be_teacher_forcing(network);
  expect_to_learn(network);
}

}  // namespace sentencode::models
