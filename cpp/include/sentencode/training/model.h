#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sentencode/training/batcher.h"
#include "sentencode/training/named_tensors.h"

namespace sentencode::training {

/// One field of a batch, on the model's device.
struct TokenTensors {
  at::Tensor ids;                         // [B, T] int64
  at::Tensor lengths;                     // [B] int64
  at::Tensor mask;                        // [B, T] bool: false for padding
  std::int64_t tokens = 0;                // sum of the lengths
  bool full = false;                      // whether nothing is padded, if known
  at::Tensor host_ids{}, host_lengths{};  // in host memory, to read without waiting for the device
};

struct TensorBatch {
  std::vector<TokenTensors> fields;  // in the order of the file
  at::Tensor labels;                 // [B] int64 or float32, or undefined
  std::int64_t size = 0;             // B
};

TensorBatch to_tensors(const Batch& batch, at::Device device);

/// What a model returns for a batch. The trainer minimises the sum over all batches divided by their count.
struct Loss {
  at::Tensor sum;        // [] with a graph: summed over tokens or sentences
  double count = 0;      // tokens or sentences in it
  at::Tensor right;      // [] how many of them are predicted correctly; undefined: no accuracy
  at::Tensor figures{};  // [F, 2] sums and counts of `Model::figures`; undefined: none
};

/// A module with a loss.
class Model : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  virtual Loss loss(const TensorBatch& batch) = 0;

  /// Names of further means to report, such as a penalty or a second decoder's loss. Constant.
  virtual std::vector<std::string> figures() const { return {}; }

  /// Parameters, of which those that require a gradient are trained, and buffers, each tensor once.
  /// Checkpoints hold both.
  virtual NamedTensors parameter_tensors() const;
  virtual NamedTensors other_tensors() const;
};

}  // namespace sentencode::training
