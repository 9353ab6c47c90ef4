#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
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
  /// Gradients of tables may be sparse. A row that a step does not read stays as it is, and so do adam's
  /// moments of it; sgd and adagrad take the steps of dense gradients.
  bool sparse_rows = false;

  void check() const;  // InvalidInput that names the member
};

/// What happens to gradients on the way to a step. All is on the device: nobody waits for it.
struct GradientScale {
  at::Tensor divisor{};  // [] double, of all of them; undefined: 1
  at::Tensor skip{};     // [] float, 1 where no step is to be taken, else 0; undefined: 0
};

/// LibTorch's optimisers, with state that has names, so that a checkpoint is nothing but tensors.
class Optimizer {
 public:
  /// Of those parameters that want a gradient.
  Optimizer(const NamedTensors& parameters, const OptimizerOptions& options);
  ~Optimizer();

  void step(double rate, const GradientScale& scale = {});
  void zero_grad();  // gradients become undefined: what a batch does not touch is not moved
  const NamedTensors& parameters() const { return parameters_; }

  /// "exp_avg.encoder.weight" and the like; steps as int64. Only of parameters that were moved.
  NamedTensors state() const;
  /// Copies such a state. FormatError where a name or a shape is not one of these.
  void restore(const std::map<std::string, at::Tensor>& state);

 private:
  /// Adam's of one parameter; undefined until it is moved.
  struct Moments {
    at::Tensor step, mean, square;  // [] float, and as the parameter
  };

  bool is_adam() const { return options_.name.starts_with("adam"); }
  void adam(double rate, const GradientScale& scale);

  NamedTensors parameters_;
  OptimizerOptions options_;
  std::vector<Moments> moments_;                        // of adam and adamw, for each parameter
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  // the others
};

/// How gradients are kept in bounds.
struct Clipping {
  double global_norm = 0;  // of all gradients together, at most; 0: not clipped
  double each_norm = 0;    // of each tensor's gradient, at most; 0: not clipped
};

struct Clipped {
  at::Tensor norm;     // [] double: of all gradients times `factor`, before they are clipped
  at::Tensor divisor;  // [] double: divided by it, they are what a step is to see
};

/// Looks how gradients, times `factor` [] double, are to be clipped, each tensor first. Rows that a sparse
/// one has several times are added up before. One pass over them, and a second one only where tensors are
/// clipped each by itself; no look at the device's memory.
Clipped clip(const NamedTensors& parameters, const at::Tensor& factor, const Clipping& clipping);

}  // namespace sentencode::training
