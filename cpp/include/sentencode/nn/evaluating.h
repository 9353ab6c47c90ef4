#pragma once

#include <torch/nn/module.h>

namespace sentencode::nn {

/// While one exists, all modules behave as in evaluation on this thread, whatever their modes: there is no
/// dropout. A network can therefore encode on several threads, and during its training, without being
/// changed.
class Evaluating {
 public:
  Evaluating() { ++depth_; }
  ~Evaluating() { --depth_; }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

  static bool here() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

/// Whether a module behaves as in training. Layers use this instead of `is_training`.
inline bool trains(const torch::nn::Module& module) { return module.is_training() && !Evaluating::here(); }

}  // namespace sentencode::nn
