#include "sentencode/models/cnn_lstm_autoencoder.h"

#include "models/autoencoders.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

TEST(CNNLSTMAutoencoderNetwork, WindowsMayBeLongerThanSentences) {
  at::manual_seed(0);
  CNNLSTMAutoencoderOptions options{
      .words = small_words(), .layers = {.hidden = 8, .filters = 5, .windows = {2, 3, 7}, .dropout = 0.1}};
  CNNLSTMAutoencoderNetwork network(options);
  EXPECT_EQ(network.dim(), 15);
  expect_to_be_an_autoencoder(network);
  options.layers.windows = {3, 3};
  EXPECT_THROW(CNNLSTMAutoencoderNetwork{options}, InvalidInput);
}

}  // namespace
}  // namespace sentencode::models
