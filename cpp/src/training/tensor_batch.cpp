// The tensors of a batch and of a model.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "nn/to_device.h"
#include "sentencode/training/model.h"

namespace sentencode::training {
namespace {

NamedTensors without_repeats(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  NamedTensors unique;
  for (const auto& item : tensors) {
    const auto is_same = [&](const auto& other) { return other.second.is_same(item.value()); };
    if (item.value().defined() && std::ranges::none_of(unique, is_same))
      unique.emplace_back(item.key(), item.value());
  }
  return unique;
}

}  // namespace

NamedTensors Model::parameter_tensors() const { return without_repeats(named_parameters()); }

NamedTensors Model::other_tensors() const { return without_repeats(named_buffers()); }

TensorBatch to_tensors(const Batch& batch, at::Device device) {
  TensorBatch tensors;
  tensors.size = std::ssize(batch.numbers);
  std::vector<const std::vector<std::int64_t>*> parts;
  for (const BatchField& field : batch.fields) parts.insert(parts.end(), {&field.ids, &field.lengths});
  if (!batch.int_labels.empty()) parts.push_back(&batch.int_labels);
  std::int64_t count = 0;
  for (const auto* part : parts) count += std::ssize(*part);
  // One copy for all integers: on a GPU, starting a copy takes longer than the copy.
  const at::Tensor host = nn::empty_for(device, {count}, at::kLong);
  auto* to = host.mutable_data_ptr<std::int64_t>();
  for (const auto* part : parts) to = std::ranges::copy(*part, to).out;
  const at::Tensor on_device = device.is_cpu() ? host : host.to(device, /*non_blocking=*/true);
  std::int64_t begin = 0;
  const auto next = [&](std::vector<std::int64_t> shape) {
    const std::int64_t size = c10::multiply_integers(shape), from = std::exchange(begin, begin + size);
    return std::pair(on_device.narrow(0, from, size).view(shape), host.narrow(0, from, size).view(shape));
  };
  for (const BatchField& field : batch.fields) {
    TokenTensors tokens;
    std::tie(tokens.ids, tokens.host_ids) = next({tensors.size, field.width});
    std::tie(tokens.lengths, tokens.host_lengths) = next({tensors.size});
    tokens.tokens = std::accumulate(field.lengths.begin(), field.lengths.end(), std::int64_t{0});
    tokens.full = std::ranges::all_of(field.lengths, [&](auto length) { return length == field.width; });
    tokens.mask =
        at::arange(field.width, tokens.lengths.options()).unsqueeze(0) < tokens.lengths.unsqueeze(1);
    tensors.fields.push_back(std::move(tokens));
  }
  if (!batch.int_labels.empty()) tensors.labels = next({tensors.size}).first;
  if (!batch.float_labels.empty())
    tensors.labels = nn::to_device(at::tensor(batch.float_labels, at::kFloat), device);
  return tensors;
}

}  // namespace sentencode::training
