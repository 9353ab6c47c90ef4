#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/ops/dispatch.h"
#include "nn/ops/vector_pooling/op.h"

namespace sentencode::nn::vector_pooling_op {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class VectorPoolingFunction : public torch::autograd::Function<VectorPoolingFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& scores, const Tensor& h,
                               const Tensor& lengths) {
    static const auto op = find_op<Forward>("sentencode::vector_pooling");
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [v, norms] = op.call(scores, h, lengths);
    context->save_for_backward({scores, h, lengths, v, norms});
    context->mark_non_differentiable({norms});
    context->set_materialize_grads(false);
    return {v, norms};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    static const auto op = find_op<Backward>("sentencode::vector_pooling_backward");
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "vector_pooling cannot be differentiated twice (create_graph=True)");
    if (!grads[0].defined()) return variable_list(3);
    const at::AutoDispatchBelowADInplaceOrView below;
    const variable_list saved = context->get_saved_variables();
    const auto [grad_scores, grad_h] = op.call(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4]);
    return {grad_scores, grad_h, {}};
  }
};

}  // namespace

Pair differentiable(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  const variable_list outputs = VectorPoolingFunction::apply(scores, h, lengths);
  return {outputs[0], outputs[1]};
}

}  // namespace sentencode::nn::vector_pooling_op
