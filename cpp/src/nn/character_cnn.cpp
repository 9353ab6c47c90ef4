#include "sentencode/nn/character_cnn.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "nn/checks.h"
#include "nn/parameters.h"
#include "sentencode/error.h"
#include "sentencode/nn/convolution.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::nn {

using at::Tensor;

CharacterCnn::CharacterCnn(const CharacterCnnOptions& options)
    : Module("CharacterCnn"), filters_(options.filters) {
  ST_CHECK(options.features >= 1 && options.filters >= 1 && !options.windows.empty(), InvalidInput,
           "CharacterCnn: features, filters and windows must be at least 1, got ", options.features, ", ",
           options.filters, " and ", options.windows.size(), " windows");
  table_ = register_parameter(
      "table", uninitialised({Alphabet(options.alphabet).size(), options.features}));  // [A, D]
  torch::nn::init::normal_(table_, 0, 0.01);
  for (const std::int64_t window : options.windows) {
    ST_CHECK(std::ranges::count(options.windows, window) == 1, InvalidInput,
             "CharacterCnn: windows must differ, got ", window, " twice");
    const auto convolution = register_module(
        concat("convolution_", window),
        std::make_shared<Convolution>(options.features, options.filters, window, Activation::relu));
    const double bound = 1 / std::sqrt(3.0 * static_cast<double>(window * options.features));
    torch::nn::init::uniform_(convolution->named_parameters()["weight"], -bound, bound);
    convolutions_.push_back(convolution);
  }
}

std::int64_t CharacterCnn::dim() const { return std::ssize(convolutions_) * filters_; }

Tensor CharacterCnn::forward(const Tensor& characters) const {
  check_tensor("CharacterCnn: characters", characters, Type::int64, {"words", "characters"});
  const Tensor mask = characters != Alphabet::kNone;   // [W, C]
  const Tensor x = at::embedding(table_, characters);  // [W, C, D]
  std::vector<Tensor> maxima;
  for (const auto& convolution : convolutions_) {
    const auto [h, windows] = convolution->forward(x, mask);     // [W, C, F], [W, C]
    maxima.push_back(masked_pooling(h, windows, Pooling::max));  // [W, F]
  }
  return at::cat(maxima, 1);  // [W, dim]
}

void CharacterCnn::pretty_print(std::ostream& out) const {
  out << "CharacterCnn(characters=" << table_.size(0) << ", features=" << table_.size(1)
      << ", filters=" << filters_ << ")";
}

}  // namespace sentencode::nn
