#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <memory>
#include <vector>

namespace c10d {
class ProcessGroup;
}

namespace sentencode::distributed {

/// Collective operations: every process calls the same ones in the same order with tensors of the same
/// shapes. A call returns when this process's part is done, and fails after the timeout of the group.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Where to put small tensors that the host reads after an operation: on the CPU if this communicator can
  /// send from it, so that the host does not wait for `device`; otherwise on `device`.
  virtual at::Device host_readable(at::Device device) const = 0;

  /// Replaces each floating-point tensor by its mean over all processes.
  void all_reduce_mean(const std::vector<at::Tensor>& tensors) { begin_all_reduce_mean(tensors)(); }

  /// Sends the current values; the result waits for the means and writes them. Calling it is optional.
  virtual std::function<void()> begin_all_reduce_mean(const std::vector<at::Tensor>& tensors) = 0;

  /// Replaces each tensor by that of process `root`.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root = 0) = 0;

  /// Returns the tensor of each process, by rank.
  virtual std::vector<at::Tensor> all_gather(const at::Tensor& tensor) = 0;

  /// Waits until all processes call it.
  virtual void barrier() = 0;
};

/// A single process.
std::shared_ptr<Communicator> local_communicator();

/// A process group of Python (gloo, NCCL, ...), which is not owned: after it is destroyed, calls fail.
std::shared_ptr<Communicator> group_communicator(const c10::intrusive_ptr<c10d::ProcessGroup>& group);

}  // namespace sentencode::distributed
