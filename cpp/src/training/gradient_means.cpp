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

GradientMeans::GradientMeans(const NamedTensors& parameters, distributed::Communicator& others)
    : parameters_(parameters), others_(others) {
  if (others_.size() == 1) return;
  constexpr std::size_t kBytes = std::size_t{8} << 20;  // the first is to leave early
  bucket_of_.resize(parameters.size());
  came_.resize(parameters.size());
  sent_.resize(parameters.size());
  std::size_t bytes = kBytes;
  for (std::size_t place = parameters.size(); place-- > 0;) {
    const std::size_t its = parameters[place].second.nbytes();
    if (bytes + its > kBytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    bytes += its;
    bucket_of_[place] = buckets_.size() - 1;
    buckets_.back().members.push_back(place);
    ++buckets_.back().missing;
  }
}

GradientMeans::~GradientMeans() {
  for (const auto& undo : unwatch_) undo();
}

void GradientMeans::watch() {
  if (others_.size() == 1) return;
  // Each device's gradients come in a thread of its own.
  const at::Device device = parameters_.front().second.device();
  if (std::ranges::any_of(parameters_, [&](const auto& item) { return item.second.device() != device; })) {
    return;
  }
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    using torch::autograd::variable_list;
    const auto node = torch::autograd::impl::grad_accumulator(parameters_[place].second);
    const auto key = node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, place](const variable_list& outputs, const variable_list&) {
          came(place);
          return outputs;
        }));
    unwatch_.push_back([node, key] { node->del_post_hook(key); });
  }
}

/// A gradient that comes in parts (a module's own backward pass within this one) is told of each time.
void GradientMeans::came(std::size_t place) {
  Bucket& bucket = buckets_[bucket_of_[place]];
  if (bucket.receive) late_ = true;
  if (came_[place]) return;
  came_[place] = true;
  --bucket.missing;
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_) send(buckets_[next_]);
}

void GradientMeans::send(Bucket& bucket) {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> gradients;
  for (const std::size_t place : bucket.members) {
    const at::Tensor& tensor = parameters_[place].second;
    sent_[place] = tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor);
    gradients.push_back(sent_[place]);
  }
  bucket.receive = others_.begin_all_reduce_mean(gradients);
}

void GradientMeans::send() {
  for (; next_ < buckets_.size(); ++next_) send(buckets_[next_]);
}

void GradientMeans::finish() {
  if (others_.size() == 1) return;
  const at::NoGradGuard guard;
  std::vector<float> mine;
  for (const auto& [name, tensor] : parameters_) mine.push_back(tensor.grad().defined() ? 1 : 0);
  mine.push_back(late_ ? 1 : 0);
  const at::Tensor share = at::tensor(mine, at::kFloat).to(parameters_.front().second.device());
  others_.all_reduce_mean({share});  // [parameters + 1]
  const at::Tensor anywhere = share.cpu();
  const float* const shares = anywhere.const_data_ptr<float>();
  const bool again = shares[parameters_.size()] > 0;
  if (!again) {
    for (const Bucket& bucket : buckets_) bucket.receive();
  }
  std::vector<at::Tensor> all;
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    if (shares[place] == 0) continue;
    at::Tensor tensor = parameters_[place].second;
    if (!tensor.grad().defined()) tensor.mutable_grad() = sent_[place];
    all.push_back(tensor.grad());
  }
  if (again) others_.all_reduce_mean(all);  // those that were sent were not whole
}

}  // namespace sentencode::training
