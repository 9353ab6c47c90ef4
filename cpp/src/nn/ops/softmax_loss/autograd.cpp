#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <optional>
#include <utility>

#include "nn/ops/softmax_loss/op.h"

namespace sentencode::nn::softmax_loss_op {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SoftmaxLossFunction : public torch::autograd::Function<SoftmaxLossFunction> {
 public:
  /// h, weight and bias are those of `rows`, as arguments that autograd sees. grad_mode: forward runs
  /// without.
  static variable_list forward(AutogradContext* context, const Tensor& h, const Tensor& weight,
                               const std::optional<Tensor>& bias, const Rows& rows, bool grad_mode) {
    const Needs needs{grad_mode && h.requires_grad(), grad_mode && weight.requires_grad(),
                      grad_mode && bias && bias->requires_grad()};
    const Losses losses = by_chunks(rows, needs);
    context->set_materialize_grads(false);
    context->mark_non_differentiable({losses.nll, losses.correct});
    auto& saved = context->saved_data;
    if (needs.grad_h) saved["h"] = losses.grad_h.to(h.scalar_type());
    if (needs.grad_weight) saved["weight"] = losses.grad_weight.to(weight.scalar_type());
    if (needs.grad_bias) saved["bias"] = losses.grad_bias.to(bias->scalar_type());
    return {losses.loss, losses.nll, losses.correct};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "softmax_loss cannot be differentiated twice (create_graph=True)");
    variable_list grad_inputs(5);
    const Tensor& grad_loss = grads[0];  // []
    if (!grad_loss.defined()) return grad_inputs;
    auto& saved = context->saved_data;
    TORCH_CHECK(!saved.empty(),
                "softmax_loss: backward a second time needs retain_graph=True the first time");
    // If the graph is not kept, the engine gets the saved tensors themselves: no second one as large as W.
    const bool keep_graph = torch::autograd::get_current_graph_task_keep_graph();
    const char* const names[] = {"h", "weight", "bias"};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto entry = saved.find(names[i]);
      if (entry == saved.end()) continue;
      if (keep_graph) {
        const Tensor grad = entry->second.toTensor();
        grad_inputs[i] = grad * grad_loss.to(grad.scalar_type());
      } else {
        grad_inputs[i] = std::move(entry->second).toTensor();
        // Reading the factor would wait for a GPU.
        if (!grad_loss.is_cpu() || grad_loss.item<double>() != 1) grad_inputs[i].mul_(grad_loss);
      }
    }
    if (!keep_graph) saved.clear();
    return grad_inputs;
  }
};

}  // namespace

std::vector<Tensor> differentiable(const Rows& rows) {
  const auto bias = rows.bias.defined() ? std::optional<Tensor>(rows.bias) : std::nullopt;
  return SoftmaxLossFunction::apply(rows.h, rows.weight, bias, rows, at::GradMode::is_enabled());
}

}  // namespace sentencode::nn::softmax_loss_op
