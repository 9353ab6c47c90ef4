#include "training/gradient_means.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>

#include "sentencode/distributed/communicator.h"

namespace sentencode::training {

GradientMeans::GradientMeans(const NamedTensors& parameters, distributed::Communicator& communicator)
    : parameters_(parameters), communicator_(communicator) {
  if (communicator_.size() == 1) return;
  constexpr std::size_t kBytes = std::size_t{8} << 20;  // small, so that the first is sent early
  bucket_of_.resize(parameters.size());
  is_complete_.resize(parameters.size());
  sent_.resize(parameters.size());
  std::size_t bytes = kBytes;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const std::size_t size = parameters[i].second.nbytes();
    if (bytes + size > kBytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    bytes += size;
    bucket_of_[i] = buckets_.size() - 1;
    buckets_.back().members.push_back(i);
    ++buckets_.back().missing;
  }
}

GradientMeans::~GradientMeans() {
  for (const auto& remove : remove_hooks_) remove();
}

void GradientMeans::watch() {
  if (communicator_.size() == 1) return;
  // Autograd has one thread per device, and hooks of several threads would race.
  const at::Device device = parameters_.front().second.device();
  if (std::ranges::any_of(parameters_, [&](const auto& item) { return item.second.device() != device; })) {
    return;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    using torch::autograd::variable_list;
    const auto node = torch::autograd::impl::grad_accumulator(parameters_[i].second);
    const auto key = node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, i](const variable_list& outputs, const variable_list&) {
          mark_complete(i);
          return outputs;
        }));
    remove_hooks_.push_back([node, key] { node->del_post_hook(key); });
  }
}

/// Called several times for a gradient that is accumulated in parts (by a nested backward pass).
void GradientMeans::mark_complete(std::size_t parameter) {
  Bucket& bucket = buckets_[bucket_of_[parameter]];
  if (bucket.receive) changed_after_send_ = true;
  if (is_complete_[parameter]) return;
  is_complete_[parameter] = true;
  --bucket.missing;
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_) send(buckets_[next_]);
}

void GradientMeans::send(Bucket& bucket) {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> gradients;
  for (const std::size_t i : bucket.members) {
    const at::Tensor& tensor = parameters_[i].second;
    sent_[i] = tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor);
    gradients.push_back(sent_[i]);
  }
  bucket.receive = communicator_.begin_all_reduce_mean(gradients);
}

void GradientMeans::send() {
  for (; next_ < buckets_.size(); ++next_) send(buckets_[next_]);
}

void GradientMeans::finish() {
  if (communicator_.size() == 1) return;
  const at::NoGradGuard guard;
  std::vector<float> flags;  // for each parameter, whether it has a gradient; whether to send again
  for (const auto& [name, tensor] : parameters_) flags.push_back(tensor.grad().defined() ? 1 : 0);
  flags.push_back(changed_after_send_ ? 1 : 0);
  const at::Device device = communicator_.host_readable(parameters_.front().second.device());
  const at::Tensor means = at::tensor(flags, at::kFloat).to(device);
  communicator_.all_reduce_mean({means});  // [parameters + 1]
  const at::Tensor on_cpu = means.cpu();
  const float* const fractions = on_cpu.const_data_ptr<float>();
  const bool again = fractions[parameters_.size()] > 0;
  if (!again) {
    for (const Bucket& bucket : buckets_) bucket.receive();
  }
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (fractions[i] == 0) continue;
    at::Tensor tensor = parameters_[i].second;
    if (!tensor.grad().defined()) tensor.mutable_grad() = sent_[i];
    gradients.push_back(tensor.grad());
  }
  if (again) communicator_.all_reduce_mean(gradients);  // incomplete gradients were sent
}

}  // namespace sentencode::training
