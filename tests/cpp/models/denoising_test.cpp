#include "sentencode/models/denoising.h"

#include "models/autoencoders.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

TEST(DenoisingNetwork, IsAnAutoencoder) {
  at::manual_seed(0);
  DenoisingOptions options{.words = small_words(), .hidden = 8, .dropout = 0.1};
  DenoisingNetwork network(options);
  EXPECT_EQ(network.dim(), 8);
  expect_to_be_an_autoencoder(network);
  options.swap_words = -0.1;
  EXPECT_THROW(DenoisingNetwork{options}, InvalidInput);
}

TEST(Noise, DropsAndSwapsAllButTheEnd) {
  const auto x = at::tensor({5.F, 6.F, 7.F, 8.F, 9.F, 1.F, 5.F, 1.F, 3.F, 3.F, 3.F, 3.F}).view({2, 6, 1});
  const Sequences sentences = Sequences::of(x, at::tensor({6, 2}, at::kLong));
  const Sequences swapped = noisy(sentences, 0, 1);
  EXPECT_TRUE(
      at::equal(swapped.x.squeeze(2),
                at::tensor({6.F, 5.F, 8.F, 7.F, 9.F, 1.F, 5.F, 1.F, 0.F, 0.F, 0.F, 0.F}).view({2, 6})));
  const Sequences dropped = noisy(sentences, 1, 1);
  EXPECT_TRUE(at::equal(dropped.lengths, at::tensor({1, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(dropped.x.select(1, 0), at::ones({2, 1})));
}

}  // namespace
}  // namespace sentencode::models
