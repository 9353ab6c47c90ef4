#include "sentencode/nn/word_writer.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>

#include "nn/markov.h"

namespace sentencode::nn {
namespace {

TEST(WordWriter, SamplesDecoderInputsFromTheDecoder) {
  at::manual_seed(7);
  torch::nn::Module owner;
  const WordWriter writer(owner, {.words = 5, .features = 2, .begin = 0, .end = 4}, 3);
  Markov decoder(at::tensor({0.F,  0.1F, 0.F,  0.6F, 0.3F,  //
                             0.F,  0.F,  1.F,  0.F,  0.F,   //
                             0.2F, 0.2F, 0.2F, 0.2F, 0.2F,  //
                             0.5F, 0.F,  0.F,  0.F,  0.5F,  //
                             0.F,  0.F,  0.F,  0.F,  1.F})
                     .view({5, 5}));
  const std::int64_t samples = 20'000;
  const at::Tensor ids = at::full({samples, 3}, 2, at::kLong);
  const at::Tensor inputs = writer.drawn_before(decoder, {}, ids, 1);  // [B, T]
  EXPECT_TRUE((inputs.select(1, 0) == 0).all().item<bool>());
  const auto frequency = [&](std::int64_t t, std::int64_t word) {
    return (inputs.select(1, t) == word).sum().item<double>() / samples;
  };
  const auto tolerance = [&](double p) { return 4 * std::sqrt(p * (1 - p) / samples); };
  for (const auto& [word, p] : {std::pair{0, 0.0}, {1, 0.1}, {2, 0.0}, {3, 0.6}, {4, 0.3}}) {
    EXPECT_NEAR(frequency(1, word), p, tolerance(p) + 1e-12) << word;  // 0 exactly if impossible
  }
  // Given the previous sample: 0 follows 3, 2 follows 1, 4 follows 3 or 4.
  for (const auto& [word, p] : {std::pair{0, 0.3}, {1, 0.0}, {2, 0.1}, {3, 0.0}, {4, 0.6}}) {
    EXPECT_NEAR(frequency(2, word), p, tolerance(p) + 1e-12) << word;
  }
  EXPECT_TRUE(at::equal(writer.drawn_before(decoder, {}, ids, 0), writer.before(ids)));
}

}  // namespace
}  // namespace sentencode::nn
