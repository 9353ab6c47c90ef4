// Gradients of several processes, sent while the backward pass computes others.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "sentencode/training/named_tensors.h"

namespace sentencode::distributed {
class Communicator;
}

namespace sentencode::training {

/// Makes each parameter's gradient its mean over all processes. They travel in buckets, those of the last
/// parameters first, because a backward pass begins there. All processes send the same buckets in the same
/// order, whichever gradients they have: zeros stand for those that they have not.
class GradientMeans {
 public:
  GradientMeans(const NamedTensors& parameters, distributed::Communicator& others);
  ~GradientMeans();
  GradientMeans(const GradientMeans&) = delete;
  GradientMeans& operator=(const GradientMeans&) = delete;

  /// The backward pass that comes is the step's last one: its gradients may leave when they are there.
  void watch();
  /// Sends what is left. Nothing else may be asked of the other processes between the first bucket and this.
  void send();
  /// Waits for all of them. What has a gradient in no process is left without one.
  void finish();

 private:
  struct Bucket {
    std::vector<std::size_t> members;  // places of parameters
    std::size_t missing = 0;           // of their gradients
    std::function<void()> receive{};   // undefined: it was not sent
  };

  void came(std::size_t place);
  void send(Bucket& bucket);

  const NamedTensors& parameters_;
  distributed::Communicator& others_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;            // of each parameter
  std::vector<bool> came_;                        // whether its gradient did
  std::vector<at::Tensor> sent_;                  // gradients, or zeros
  std::vector<std::function<void()>> unwatch_{};  // undo `watch`
  std::size_t next_ = 0;                          // bucket to be sent
  bool late_ = false;                             // whether a gradient changed after it was sent
};

}  // namespace sentencode::training
