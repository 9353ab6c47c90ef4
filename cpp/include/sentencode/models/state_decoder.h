#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/recurrent.h"

namespace torch::nn {
class LinearImpl;
}

namespace sentencode::models {

/// A recurrent decoder that reads the sentence embedding z only in its initial state: h_0, and c_0 of an
/// LSTM, are tanh(W z + b).
class StateDecoder : public torch::nn::Module {
 public:
  StateDecoder(std::int64_t features, std::int64_t code, std::int64_t hidden, nn::Cell cell = nn::Cell::lstm);

  nn::RecurrentState start(const at::Tensor& z) const;                 // [B, code]
  at::Tensor forward(const at::Tensor& z, const Sequences& y) const;   // [B, T, H]
  std::pair<at::Tensor, nn::RecurrentState> step(const at::Tensor& y,  // [B, E] -> [B, H]
                                                 const nn::RecurrentState& state) const;

 private:
  std::int64_t parts_;  // 1: h; 2: h and c
  std::shared_ptr<torch::nn::LinearImpl> begin_;
  std::shared_ptr<nn::RecurrentStack> recurrent_;
};

}  // namespace sentencode::models
