#include "sentencode/models/convolutional_encoder.h"

#include <ATen/Functions.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/nn/convolution.h"
#include "sentencode/nn/pooling.h"

namespace sentencode::models {

using at::Tensor;

Tensor ConvolutionalOptions::drop_input(const Tensor& x, bool training) const {
  return at::dropout(x, dropout, training);
}

ConvolutionalEncoder::ConvolutionalEncoder(torch::nn::Module& owner, std::int64_t features,
                                           ConvolutionalOptions options)
    : options_(std::move(options)) {
  const std::vector<std::int64_t>& windows = options_.windows;
  ST_CHECK(!windows.empty(), InvalidInput, "windows must be one or more widths, got none");
  for (const std::int64_t window : windows) {
    ST_CHECK(std::count(windows.begin(), windows.end(), window) == 1, InvalidInput,
             "windows must differ, got ", window, " twice");
    convolutions_.push_back(
        owner.register_module("convolution_" + std::to_string(window),
                              std::make_shared<nn::Convolution>(features, options_.filters, window)));
  }
}

Tensor ConvolutionalEncoder::forward(const nn::Sequences& sentences, bool training) const {
  const Tensor x = options_.drop_input(sentences.x, training);  // [B, T, E]
  std::vector<Tensor> z;
  for (const auto& convolution : convolutions_) {
    const auto [h, windows] = convolution->forward(x, sentences.mask);  // [B, T, F], [B, T]
    z.push_back(nn::masked_pooling(h, windows, nn::Pooling::max));      // [B, F]
  }
  return at::cat(z, 1);  // [B, dim]
}

}  // namespace sentencode::models
