#include "sentencode/distributed/communicator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "sentencode/error.h"

namespace sentencode::distributed {
namespace {

void check_mean(const std::vector<at::Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ST_CHECK(tensors[i].is_floating_point(), InvalidInput, "all_reduce_mean: tensor ", i,
             " must be floating point, got ", tensors[i].dtype());
  }
}

void check_root(int root, int size) {
  ST_CHECK(root >= 0 && root < size, InvalidInput, "broadcast: root must be in 0..", size - 1, ", got ",
           root);
}

class Local final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  at::Device host_readable(at::Device) const override { return at::kCPU; }
  std::function<void()> begin_all_reduce_mean(const std::vector<at::Tensor>& tensors) override {
    check_mean(tensors);
    return [] {};
  }
  void broadcast(const std::vector<at::Tensor>&, int root) override { check_root(root, 1); }
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override { return {tensor.detach().clone()}; }
  void barrier() override {}
};

/// Tensors of one type and device, flattened into buckets of 25 MB. All are sent before the first is
/// received.
class Buckets {
 public:
  explicit Buckets(const std::vector<at::Tensor>& tensors) {
    constexpr std::size_t kBytes = std::size_t{25} << 20;
    std::size_t bytes = 0;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.numel() == 0) continue;
      if (buckets_.empty() || bytes + tensor.nbytes() > kBytes ||
          !tensor.options().type_equal(buckets_.back().members[0].options()) ||
          tensor.device() != buckets_.back().members[0].device()) {
        buckets_.emplace_back();
        bytes = 0;
      }
      bytes += tensor.nbytes();
      buckets_.back().members.push_back(tensor);
    }
  }

  /// Calls start(flat tensors) for each bucket.
  template <typename Start>
  void send(Start start) {
    for (Bucket& bucket : buckets_) {
      std::vector<at::Tensor> flat;
      for (const at::Tensor& tensor : bucket.members) flat.push_back(tensor.reshape({-1}));
      bucket.flat = {at::cat(flat)};
      bucket.work = start(bucket.flat);
    }
  }

  /// Waits for each bucket, calls finish(flat tensor), and copies the result to its tensors.
  template <typename Finish>
  void receive(Finish finish) {
    for (Bucket& bucket : buckets_) {
      bucket.work->wait();
      finish(bucket.flat[0]);
      std::int64_t offset = 0;
      for (const at::Tensor& tensor : bucket.members) {
        tensor.copy_(bucket.flat[0].narrow(0, offset, tensor.numel()).view(tensor.sizes()));
        offset += tensor.numel();
      }
    }
  }

 private:
  struct Bucket {
    std::vector<at::Tensor> members;
    std::vector<at::Tensor> flat;  // a single tensor; c10d takes lists
    c10::intrusive_ptr<c10d::Work> work;
  };
  std::vector<Bucket> buckets_;
};

class Group final : public Communicator {
 public:
  explicit Group(const c10::intrusive_ptr<c10d::ProcessGroup>& group)
      : group_(group), rank_(group->getRank()), size_(group->getSize()) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  at::Device host_readable(at::Device device) const override {
    const std::vector<at::Device> devices = group()->getDeviceTypes();
    return std::ranges::any_of(devices, &at::Device::is_cpu) ? at::Device(at::kCPU) : device;
  }

  std::function<void()> begin_all_reduce_mean(const std::vector<at::Tensor>& tensors) override {
    check_mean(tensors);
    const at::NoGradGuard no_grad;
    const auto buckets = std::make_shared<Buckets>(tensors);
    buckets->send([this](std::vector<at::Tensor>& flat) { return group()->allreduce(flat); });
    return [buckets, size = size_] {
      const at::NoGradGuard guard;
      buckets->receive([size](at::Tensor& flat) { flat.div_(size); });  // not all backends have a mean
    };
  }

  void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
    check_root(root, size());
    const at::NoGradGuard no_grad;
    c10d::BroadcastOptions options;
    options.rootRank = root;
    Buckets buckets(tensors);
    buckets.send([&](std::vector<at::Tensor>& flat) { return group()->broadcast(flat, options); });
    buckets.receive([](at::Tensor&) {});
  }

  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> input{tensor.detach().contiguous()};
    std::vector<std::vector<at::Tensor>> output(1);
    for (int i = 0; i < size(); ++i) output[0].push_back(at::empty_like(input[0]));
    group()->allgather(output, input)->wait();
    return std::move(output[0]);
  }

  void barrier() override { group()->barrier()->wait(); }

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group() const {
    auto group = group_.lock();
    ST_CHECK(group, InvalidInput, "Communicator: its process group was destroyed");
    return group;
  }

  // Weak, so that destroy_process_group ends its threads, which would outlive Python and abort.
  c10::weak_intrusive_ptr<c10d::ProcessGroup> group_;
  const int rank_, size_;
};

}  // namespace

std::shared_ptr<Communicator> local_communicator() { return std::make_shared<Local>(); }

std::shared_ptr<Communicator> group_communicator(const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  ST_CHECK(group, InvalidInput, "Communicator: the process group is missing");
  return std::make_shared<Group>(group);
}

}  // namespace sentencode::distributed
