#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "nn/ops/conditional_gru/op.h"

namespace sentencode::nn::conditional_gru_op {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class ConditionalGRUFunction : public torch::autograd::Function<ConditionalGRUFunction> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList inputs,
                               const std::optional<Tensor>& mask,
                               const std::shared_ptr<const PackedOrder>& order) {
    variable_list saved;
    for (const Tensor& input : inputs) saved.push_back(input.contiguous());
    const Tensor contiguous_mask = mask ? mask->contiguous() : Tensor();
    const variable_list outputs = forward_cpu(*order, saved, contiguous_mask);
    if (saved[kQuery].size(0) == 0) context->mark_non_differentiable({outputs[kContexts], outputs[kWeights]});
    saved.push_back(contiguous_mask);
    saved.insert(saved.end(), outputs.begin(), outputs.end());
    context->save_for_backward(saved);
    context->saved_data["order"] = to_ivalue(order);
    return {outputs[kStates], outputs[kContexts], outputs[kWeights]};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "ConditionalGRU cannot be differentiated twice (create_graph=True)");
    const variable_list saved = context->get_saved_variables();
    variable_list grad_inputs = backward_cpu(
        *to_packed_order(context->saved_data["order"]), {saved.begin(), saved.begin() + kInputs},
        saved[kInputs], {saved.begin() + kInputs + 1, saved.end()}, grads, context->needs_input_grad(kX));
    grad_inputs.resize(kInputs + 2);  // mask and order
    return grad_inputs;
  }
};

}  // namespace

std::vector<Tensor> differentiable(const std::vector<Tensor>& inputs, const Tensor& mask,
                                   const std::shared_ptr<const PackedOrder>& order) {
  return ConditionalGRUFunction::apply(at::TensorList(inputs),
                                       mask.defined() ? std::optional<Tensor>(mask) : std::nullopt, order);
}

}  // namespace sentencode::nn::conditional_gru_op
