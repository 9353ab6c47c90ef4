#pragma once

#include <torch/nn/module.h>

namespace sentencode::nn {

/// While it lives, no module trains on this thread: there is no dropout, whatever the modules' modes are. So
/// one network encodes on several threads, and in the middle of its training, and nobody has to change it.
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

/// Whether a module is to behave as in training. Ours ask this, and not `is_training` alone.
inline bool trains(const torch::nn::Module& module) { return module.is_training() && !Evaluating::here(); }

}  // namespace sentencode::nn
