#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sentencode/training/model.h"

namespace sentencode::models {

/// What is learnt from the rows of sentences, whatever network makes them: of single sentences, of pairs, of
/// triples.
class Head : public torch::nn::Module {
 public:
  using Module::Module;

  /// Rows z [B, dim] of each sentence of B examples, and their labels -> the sum of their losses.
  virtual training::Loss loss(const std::vector<at::Tensor>& rows, const at::Tensor& labels) = 0;
  /// What it says of examples: [B], or [B, classes], or rows.
  virtual at::Tensor predict(const std::vector<at::Tensor>& rows) = 0;

  /// Its kind and options as JSON, of which `make_head` makes one alike, with other weights.
  std::string config() const;
};

}  // namespace sentencode::models
