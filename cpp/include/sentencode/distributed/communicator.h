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

/// All that a trainer knows of other processes. Every process calls the same members in the same order with
/// tensors of the same shapes; a call returns when this process's part is done, and fails when the others do
/// not come in the time that their group was given.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Each tensor becomes its mean over all processes, in place. Floating point only.
  void all_reduce_mean(const std::vector<at::Tensor>& tensors) { begin_all_reduce_mean(tensors)(); }

  /// Begins that: the values of now are on their way, and what it returns waits for the means and writes
  /// them. Whoever does not want them any more need not call it.
  virtual std::function<void()> begin_all_reduce_mean(const std::vector<at::Tensor>& tensors) = 0;

  /// Each tensor becomes that of process `root`, in place.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root = 0) = 0;

  /// The tensor of each process, in the order of ranks: [size] tensors.
  virtual std::vector<at::Tensor> all_gather(const at::Tensor& tensor) = 0;

  /// Returns when all processes are here.
  virtual void barrier() = 0;
};

/// One process: nothing to do, so that a trainer needs no branch.
std::shared_ptr<Communicator> local_communicator();

/// Over a group that Python has set up (gloo, NCCL, ...) and keeps: when the group is destroyed, calls fail.
std::shared_ptr<Communicator> group_communicator(const c10::intrusive_ptr<c10d::ProcessGroup>& group);

}  // namespace sentencode::distributed
