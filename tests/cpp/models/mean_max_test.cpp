#include "sentencode/models/mean_max.h"

#include "models/autoencoders.h"

namespace sentencode::models {
namespace {

MeanMaxOptions small(nn::Pooling pooling = nn::Pooling::mean_max) {
  return {.words = small_words(),
          .layers = {.hidden = 8, .inner = 10, .heads = 2, .dropout = 0.1},
          .pooling = pooling};
}

TEST(MeanMaxNetwork, IsAnAutoencoderWithEachPooling) {
  for (const auto pooling : {nn::Pooling::mean, nn::Pooling::max, nn::Pooling::mean_max}) {
    at::manual_seed(0);
    MeanMaxNetwork network(small(pooling));
    network.eval();
    EXPECT_EQ(network.attention(small_sentences(network)).sizes(),
              at::IntArrayRef({2, 2, 4, nn::pooling_width(pooling)}));
    expect_no_influence_of_the_batch(network);
    expect_steps_to_be_teacher_forcing(network);
  }
  MeanMaxNetwork network(small());
  expect_to_learn(network);
}

TEST(MeanMaxNetwork, PositionsMayBeLearnt) {
  at::manual_seed(0);
  MeanMaxOptions options = small();
  options.positions = nn::PositionEncoding::learnt;
  options.places = 3;  // fewer than the words of a sentence
  MeanMaxNetwork network(options);
  expect_to_be_an_autoencoder(network);
}

TEST(MeanMaxNetwork, AppliesDropoutToSublayers) {
  at::manual_seed(0);
  MeanMaxOptions options = small();
  options.layers.dropout_place = DropoutPlace::sublayers;
  MeanMaxNetwork network(options);
  expect_to_be_an_autoencoder(network);
}

}  // namespace
}  // namespace sentencode::models
