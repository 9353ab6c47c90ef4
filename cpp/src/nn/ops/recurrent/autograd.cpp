#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/ops/recurrent/op.h"

namespace sentencode::nn::recurrent_op {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class LayerFunction : public torch::autograd::Function<LayerFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, at::TensorList initial,
                               at::TensorList weights, const std::shared_ptr<const PackedOrder>& order,
                               Cell cell) {
    Layer layer{cell, *order, contiguous(initial), contiguous(weights)};
    variable_list outputs = forward_cpu(layer, x);
    variable_list saved{x, layer.output};
    for (const auto* tensors : {&layer.initial, &layer.weights, &layer.gates, &layer.cells}) {
      saved.insert(saved.end(), tensors->begin(), tensors->end());
    }
    context->save_for_backward(saved);
    context->saved_data["order"] = to_ivalue(order);
    context->saved_data["gru"] = layer.is_gru();
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "a recurrent layer cannot be differentiated twice (create_graph=True)");
    const variable_list saved = context->get_saved_variables();
    const auto order = to_packed_order(context->saved_data["order"]);
    const bool gru = context->saved_data["gru"].toBool();
    auto next = saved.begin() + 2;
    const auto take = [&](std::int64_t count) {
      next += count;
      return variable_list(next - count, next);
    };
    const std::int64_t states = gru ? 1 : 2, directions = next->size(1);
    Layer layer{gru ? Cell::gru : Cell::lstm, *order, take(states), take(4 * directions)};
    layer.output = saved[1];
    layer.gates = take(directions);
    if (!gru) layer.cells = take(directions);
    variable_list outputs = backward_cpu(layer, saved[0], grads, context->needs_input_grad(0));
    outputs.resize(outputs.size() + 2);  // order and cell
    return outputs;
  }
};

}  // namespace

std::vector<Tensor> differentiable(Cell cell, const Tensor& x, const RecurrentState& initial,
                                   const std::shared_ptr<const PackedOrder>& order,
                                   const std::vector<Tensor>& weights) {
  return LayerFunction::apply(x, at::TensorList(initial), at::TensorList(weights), order, cell);
}

}  // namespace sentencode::nn::recurrent_op
