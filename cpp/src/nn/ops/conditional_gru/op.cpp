#include "nn/ops/conditional_gru/op.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>

#include <algorithm>

namespace sentencode::nn {

using at::Tensor;

bool supports_conditional_gru(const Tensor& x, const Tensor& state, const KeysValues& memory,
                              const ConditionalWeights& weights) {
  const auto type = x.scalar_type();
  const auto fits = [&](const Tensor& tensor) {
    return !tensor.defined() ||
           (tensor.is_cpu() && tensor.scalar_type() == type && tensor.layout() == at::kStrided);
  };
  return (type == at::kFloat || type == at::kDouble) && !at::autocast::is_autocast_enabled(at::kCPU) &&
         std::ranges::all_of(std::vector{x, state, memory.keys, memory.values, weights.query, weights.score},
                             fits) &&
         std::ranges::all_of(weights.word, fits) && std::ranges::all_of(weights.context, fits);
}

ConditionalStates conditional_gru(const Tensor& x, const Tensor& state, const KeysValues& memory,
                                  const Tensor& memory_mask, const std::shared_ptr<const PackedOrder>& order,
                                  const ConditionalWeights& weights) {
  const bool attends = weights.query.defined();
  const Tensor none = at::empty({0}, x.options().requires_grad(false));
  std::vector<Tensor> inputs{x, state, attends ? memory.keys : none, memory.values};
  inputs.insert(inputs.end(), weights.word.begin(), weights.word.end());
  inputs.insert(inputs.end(), weights.context.begin(), weights.context.end());
  inputs.insert(inputs.end(), {attends ? weights.query : none, attends ? weights.score : none});
  const std::vector<Tensor> outputs = conditional_gru_op::differentiable(inputs, memory_mask, order);
  if (attends) return {outputs[0], outputs[1], outputs[2]};
  return {outputs[0], {}, {}};
}

}  // namespace sentencode::nn
