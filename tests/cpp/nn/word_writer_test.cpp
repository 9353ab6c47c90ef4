#include "sentencode/nn/word_writer.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>

namespace sentencode::nn {
namespace {

/// The next word by a table of the word before.
class Table : public Decoder {
 public:
  explicit Table(const at::Tensor& p) : log_p_(p.log()) {}
  DecoderStart start(const DecoderMemory& given) override { return {given, {}}; }
  DecoderStep step(const at::Tensor& ids, const DecoderMemory& /*memory*/,
                   const DecoderCache& cache) override {
    return {log_p_.index_select(0, ids), cache};
  }

 private:
  at::Tensor log_p_;  // [V, V]
};

TEST(WordWriter, DrawsWordsAsLikelyAsTheDecoderSays) {
  at::manual_seed(7);
  torch::nn::Module owner;
  const WordWriter writer(owner, {.words = 5, .features = 2, .begin = 0, .end = 4}, 3);
  Table decoder(at::tensor({0.F,  0.1F, 0.F,  0.6F, 0.3F,  //
                            0.F,  0.F,  1.F,  0.F,  0.F,   //
                            0.2F, 0.2F, 0.2F, 0.2F, 0.2F,  //
                            0.5F, 0.F,  0.F,  0.F,  0.5F,  //
                            0.F,  0.F,  0.F,  0.F,  1.F})
                    .view({5, 5}));
  const std::int64_t many = 20'000;
  const at::Tensor ids = at::full({many, 3}, 2, at::kLong);
  const at::Tensor told = writer.drawn_before(decoder, {}, ids, 1);  // [B, T]
  EXPECT_TRUE((told.select(1, 0) == 0).all().item<bool>());
  const auto share = [&](std::int64_t place, std::int64_t word) {
    return (told.select(1, place) == word).sum().item<double>() / many;
  };
  const auto near = [&](double p) { return 4 * std::sqrt(p * (1 - p) / many); };
  for (const auto& [word, p] : {std::pair{0, 0.0}, {1, 0.1}, {2, 0.0}, {3, 0.6}, {4, 0.3}}) {
    EXPECT_NEAR(share(1, word), p, near(p) + 1e-12) << word;  // what cannot be never is
  }
  // By the word that was drawn before: 0 by 3 alone, 2 by 1, 4 by 3 or 4.
  for (const auto& [word, p] : {std::pair{0, 0.3}, {1, 0.0}, {2, 0.1}, {3, 0.0}, {4, 0.6}}) {
    EXPECT_NEAR(share(2, word), p, near(p) + 1e-12) << word;
  }
  EXPECT_TRUE(at::equal(writer.drawn_before(decoder, {}, ids, 0), writer.before(ids)));
}

}  // namespace
}  // namespace sentencode::nn
