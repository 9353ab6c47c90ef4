#include "sentencode/models/state_decoder.h"

#include <ATen/Functions.h>
#include <torch/nn/modules/linear.h>

#include <string>

#include "sentencode/nn/linear.h"

namespace sentencode::models {

using at::Tensor;

StateDecoder::StateDecoder(std::int64_t features, std::int64_t code, std::int64_t hidden, nn::Cell cell)
    : torch::nn::Module("StateDecoder"), parts_(cell == nn::Cell::lstm ? 2 : 1) {
  begin_ = register_module("begin", nn::xavier_linear(code, parts_ * hidden));
  recurrent_ =
      register_module(std::string(name_of(cell)), std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                                      .cell = cell, .features = features, .hidden = hidden}));
}

nn::RecurrentState StateDecoder::start(const Tensor& z) const {
  return at::tanh(begin_->forward(z)).unsqueeze(1).chunk(parts_, 2);  // h_0 (and c_0), [B, 1, H] each
}

Tensor StateDecoder::forward(const Tensor& z, const Sequences& y) const {
  return recurrent_->forward(y.x, y.host_lengths_or_all(), start(z)).output;  // [B, T, H]
}

std::pair<Tensor, nn::RecurrentState> StateDecoder::step(const Tensor& y,
                                                         const nn::RecurrentState& state) const {
  return recurrent_->step(y, state);
}

}  // namespace sentencode::models
