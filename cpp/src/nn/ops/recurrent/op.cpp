#include "nn/ops/recurrent/op.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sentencode::nn {

using at::Tensor;

bool supports_recurrent_layer(const Tensor& x, const std::vector<Tensor>& weights) {
  const auto fits = [&](const Tensor& tensor) {
    return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.scalar_type() == x.scalar_type();
  };
  return (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble) && fits(x) &&
         !at::autocast::is_autocast_enabled(at::kCPU) && std::ranges::all_of(weights, fits);
}

RecurrentOutput recurrent_layer(Cell cell, const Tensor& x, const RecurrentState& initial,
                                const std::shared_ptr<const PackedOrder>& order,
                                const std::vector<Tensor>& weights) {
  std::vector<Tensor> outputs;
  if (at::GradMode::is_enabled()) {
    outputs = recurrent_op::differentiable(cell, x, initial, order, weights);
  } else {
    recurrent_op::Layer layer{cell, *order, recurrent_op::contiguous(initial),
                              recurrent_op::contiguous(weights), /*saves=*/false};
    outputs = recurrent_op::forward_cpu(layer, x);
  }
  return {outputs[0], {outputs.begin() + 1, outputs.end()}};
}

Tensor gru_input_bias(const Tensor& b_w, const Tensor& b_u) {
  Tensor bias = b_w + b_u;
  const std::int64_t hidden = bias.size(0) / 3;
  bias.narrow(0, 2 * hidden, hidden).copy_(b_w.narrow(0, 2 * hidden, hidden));
  return bias;
}

}  // namespace sentencode::nn
