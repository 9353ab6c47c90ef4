#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sentencode/training/batcher.h"
#include "sentencode/training/named_tensors.h"

namespace sentencode::training {

/// One field of a batch, on the device where a model computes.
struct TokenTensors {
  at::Tensor ids;           // [B, T] int64
  at::Tensor lengths;       // [B] int64
  at::Tensor mask;          // [B, T] bool: true where there is a token
  std::int64_t tokens = 0;  // here: the lengths' sum
  bool full = false;        // whether it is known that nothing is padded
  // ids and lengths in the host's memory, for what is decided there without waiting for the device.
  at::Tensor host_ids{}, host_lengths{};
};

struct TensorBatch {
  std::vector<TokenTensors> fields;  // in the order of the file
  at::Tensor labels;                 // [B] int64 or float32; undefined where there are none
  std::int64_t size = 0;             // B, here
};

TensorBatch to_tensors(const Batch& batch, at::Device device);

/// What a model says of a batch.
struct Loss {
  at::Tensor sum;        // [] with a graph: of all that counts (tokens, sentences)
  double count = 0;      // how much counts
  at::Tensor right;      // [] how much of it the model had right; undefined where that means nothing
  at::Tensor figures{};  // [F, 2] what `Model::figures` names, each a sum and of how many; undefined for none
};

/// All that a trainer asks of a model.
class Model : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  virtual Loss loss(const TensorBatch& batch) = 0;

  /// Names of what a loss tells besides: penalties, a second decoder's loss. The same before each batch.
  virtual std::vector<std::string> figures() const { return {}; }

  /// Its parameters, of which those are trained that want a gradient, and what a checkpoint holds beside
  /// them. Each tensor once; a model that keeps them elsewhere than in this module says where.
  virtual NamedTensors parameter_tensors() const;
  virtual NamedTensors other_tensors() const;
};

}  // namespace sentencode::training
