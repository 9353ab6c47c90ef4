#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sentencode/models/options.h"
#include "sentencode/nn/sequences.h"

namespace torch::nn {
class Module;
}
namespace sentencode::nn {
class Convolution;
}

namespace sentencode::models {

/// Options of the networks of Gan et al. (2017): a convolutional encoder, and LSTMs.
struct ConvolutionalOptions {
  std::int64_t hidden = 512;
  std::int64_t filters = 200;
  std::vector<std::int64_t> windows = {3, 4, 5};
  double dropout = 0.1;

  std::int64_t dim() const { return std::ssize(windows) * filters; }
  at::Tensor drop_input(const at::Tensor& x, bool training) const;
};

template <OptionsOf<ConvolutionalOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("hidden", of.hidden, at_least(1, "Units of each LSTM."));
  visit("filters", of.filters, at_least(1, "Filters of each window width."));
  visit("windows", of.windows,
        at_least(1, "Window widths of the filters, in words. Shorter sentences are padded with zeros."));
  visit("dropout", of.dropout, dropout_probability("Dropout probability of the word vectors."));
}

/// The encoder of Gan et al.: convolutions over windows of words, tanh, their maxima over time.
class ConvolutionalEncoder {
 public:
  /// Registers its tensors with the owner: "convolution_<width>" for each window.
  ConvolutionalEncoder(torch::nn::Module& owner, std::int64_t features, ConvolutionalOptions options);

  at::Tensor forward(const nn::Sequences& sentences, bool training) const;  // [B, dim]

 private:
  ConvolutionalOptions options_;
  std::vector<std::shared_ptr<nn::Convolution>> convolutions_;
};

}  // namespace sentencode::models
