#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sentencode/training/named_tensors.h"

namespace torch::optim {
class Optimizer;
}

namespace sentencode::training {

struct OptimizerOptions {
  std::string name = "adam";          // "adam", "adamw", "sgd", "rmsprop" or "adagrad"
  double beta1 = 0.9, beta2 = 0.999;  // of adam and adamw
  double momentum = 0.0;              // of sgd and rmsprop
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // of squared weights; adamw's is of the weights themselves

  void check() const;  // InvalidInput that names the member
};

/// One of LibTorch's optimisers, with state that has names, so that a checkpoint is nothing but tensors.
class Optimizer {
 public:
  /// Of those parameters that want a gradient.
  Optimizer(const NamedTensors& parameters, const OptimizerOptions& options);
  ~Optimizer();

  void step(double rate);
  void zero_grad();  // gradients become undefined: what a batch does not touch is not moved
  const NamedTensors& parameters() const { return parameters_; }

  /// "exp_avg.encoder.weight" and the like; steps as int64. Only of parameters that were moved.
  NamedTensors state() const;
  /// Copies such a state. FormatError where a name or a shape is not one of these.
  void restore(const std::map<std::string, at::Tensor>& state);

 private:
  template <typename State>
  void adam(double rate);

  NamedTensors parameters_;
  OptimizerOptions options_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

/// How gradients are kept in bounds.
struct Clipping {
  double global_norm = 0;  // of all gradients together, at most; 0: not clipped
  double each_norm = 0;    // of each tensor's gradient, at most; 0: not clipped
};

/// Clips, each tensor first, and returns the norm of all gradients before. One look at the device's memory.
double clip(const NamedTensors& parameters, const Clipping& clipping);

}  // namespace sentencode::training
