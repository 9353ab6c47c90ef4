#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sentencode/training/named_tensors.h"

namespace sentencode::training {

struct OptimizerOptions {
  std::string name = "adam";          // "adam", "adamw", "sgd", "rmsprop" or "adagrad"
  double beta1 = 0.9, beta2 = 0.999;  // adam and adamw only
  double momentum = 0.0;              // sgd and rmsprop only
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // L2 penalty; decoupled for adamw
  /// Allows sparse gradients of tables. Rows without a gradient keep their values and adam's moments; sgd and
  /// adagrad take the same steps as with dense gradients.
  bool sparse_rows = false;

  void check() const;  // InvalidInput names the member
};

/// Applied to gradients in a step, on the device, without waiting for it.
struct GradientScale {
  at::Tensor divisor{};  // [] double, divides all gradients; undefined: 1
  at::Tensor skip{};     // [] float: 1 skips the step; undefined: 0
};

/// The optimizers of torch.optim, with named state tensors for checkpoints.
class Optimizer {
 public:
  /// Optimizes the parameters that require a gradient.
  Optimizer(const NamedTensors& parameters, const OptimizerOptions& options);

  void step(double rate, const GradientScale& scale = {});
  void zero_grad();  // makes gradients undefined: parameters that a batch does not use keep their values
  const NamedTensors& parameters() const { return parameters_; }

  /// Tensors named like "exp_avg.encoder.weight" of the parameters that had a gradient; steps are int64.
  NamedTensors state() const;
  /// Copies such a state. FormatError where a name or a shape does not match.
  void restore(const std::map<std::string, at::Tensor>& saved);

 private:
  /// Of one parameter; undefined until its first step.
  struct State {
    at::Tensor step;                  // [] float
    std::vector<at::Tensor> moments;  // as `moment_names_`, each shaped like the parameter
  };

  bool is_adam() const { return options_.name.starts_with("adam"); }

  NamedTensors parameters_;
  OptimizerOptions options_;
  std::vector<std::string> moment_names_;
  std::vector<State> states_;  // for each parameter
};

/// Gradient clipping. 0: none.
struct Clipping {
  double global_norm = 0;  // maximum norm of all gradients together
  double each_norm = 0;    // maximum norm of each tensor's gradient
};

struct Clipped {
  at::Tensor norm;     // [] double: norm of all gradients times `factor`, before clipping
  at::Tensor divisor;  // [] double: divides the gradients of the step
};

/// Clips gradients times `factor` [] double, first each tensor's, then all together. Gradients are scaled
/// here only for `each_norm`; the rest is in the divisor. Adds up repeated rows of sparse gradients. Does not
/// wait for the device.
Clipped clip(const NamedTensors& parameters, const at::Tensor& factor, const Clipping& clipping);

}  // namespace sentencode::training
