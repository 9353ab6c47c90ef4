#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sentencode/training/model.h"

namespace sentencode::models {

/// A loss on the embeddings of single sentences, pairs or triples, for networks of every family.
class Head : public torch::nn::Module {
 public:
  using Module::Module;

  /// The sum of the losses of B examples, given the embeddings z [B, dim] of each of their sentences.
  virtual training::Loss loss(const std::vector<at::Tensor>& z, const at::Tensor& labels) = 0;
  /// Predictions for examples: [B], [B, classes] or embeddings.
  virtual at::Tensor predict(const std::vector<at::Tensor>& z) = 0;

  /// Kind and options as JSON, for `make_head`.
  std::string config() const;
};

}  // namespace sentencode::models
