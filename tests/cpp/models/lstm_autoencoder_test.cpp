#include "sentencode/models/lstm_autoencoder.h"

#include "models/autoencoders.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

TEST(LSTMAutoencoderNetwork, IsAsWideAsMeanMaxNetwork) {
  at::manual_seed(0);
  LSTMAutoencoderOptions options{.words = small_words(),
                                 .layers = {.hidden = 8, .inner = 10, .heads = 2, .dropout = 0.1}};
  LSTMAutoencoderNetwork network(options);
  EXPECT_EQ(network.dim(), 16);
  EXPECT_EQ(network.attention(small_sentences(network)).sizes(), at::IntArrayRef({2, 2, 4, 2}));
  expect_to_be_an_autoencoder(network);
  options.layers.hidden = 9;
  options.layers.heads = 3;
  EXPECT_THROW(LSTMAutoencoderNetwork{options}, InvalidInput);
}

}  // namespace
}  // namespace sentencode::models
