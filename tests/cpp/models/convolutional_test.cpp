#include "sentencode/models/convolutional.h"

#include "models/networks.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

TEST(ConvolutionalNetwork, IsAnAutoencoderWithWindowsLongerThanSentences) {
  at::manual_seed(0);
  ConvolutionalOptions options{.hidden = 8, .filters = 5, .windows = {2, 3, 7}, .dropout = 0.1};
  ConvolutionalNetwork network(small_words(), options);
  EXPECT_EQ(network.dim(), 15);
  expect_to_be_an_autoencoder(network);
  options.windows = {3, 3};
  EXPECT_THROW(ConvolutionalNetwork(small_words(), options), InvalidInput);
}

}  // namespace
}  // namespace sentencode::models
