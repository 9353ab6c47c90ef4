// Gradients of several processes, sent during the backward pass.
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

/// Averages each parameter's gradient over all processes, in buckets, like DistributedDataParallel. Buckets
/// begin with the last parameters, whose gradients a backward pass computes first. All processes send the
/// same buckets in the same order; zeros stand for undefined gradients.
class GradientMeans {
 public:
  GradientMeans(const NamedTensors& parameters, distributed::Communicator& communicator);
  ~GradientMeans();
  GradientMeans(const GradientMeans&) = delete;
  GradientMeans& operator=(const GradientMeans&) = delete;

  /// Called before the last backward pass of a step: sends each bucket when its gradients are complete.
  void watch();
  /// Sends the remaining buckets. No other communication is allowed between the first bucket and this.
  void send();
  /// Waits for all buckets. A gradient that no process has stays undefined.
  void finish();

 private:
  struct Bucket {
    std::vector<std::size_t> members;  // indices of parameters
    std::size_t missing = 0;           // gradients that are not complete
    std::function<void()> receive{};   // null: not sent
  };

  void mark_complete(std::size_t parameter);
  void send(Bucket& bucket);

  const NamedTensors& parameters_;
  distributed::Communicator& communicator_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;                 // for each parameter
  std::vector<bool> is_complete_;                      // for each gradient
  std::vector<at::Tensor> sent_;                       // gradients, or zeros
  std::vector<std::function<void()>> remove_hooks_{};  // undo `watch`
  std::size_t next_ = 0;                               // bucket to send
  bool changed_after_send_ = false;
};

}  // namespace sentencode::training
