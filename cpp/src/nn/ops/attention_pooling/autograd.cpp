#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

#include "nn/ops/attention_pooling/op.h"
#include "nn/ops/dispatch.h"

namespace sentencode::nn::attention_pooling_op {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AttentionPoolingFunction : public torch::autograd::Function<AttentionPoolingFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& h, const Tensor& offsets,
                               const Tensor& w1, const MaybeTensor& b1, const Tensor& w2, std::int64_t heads,
                               std::string_view scores, std::string_view activation, bool keep) {
    static const auto op = find_op<Forward>("sentencode::attention_pooling");
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [v, z, norms, s] = op.call(h, offsets, w1, b1, w2, heads, scores, activation, keep);
    context->save_for_backward({h, offsets, w1, w2, v, z, norms, s});
    context->mark_non_differentiable({z, norms, s});
    context->set_materialize_grads(false);  // no zeros for z, norms and s
    context->saved_data["heads"] = heads;
    context->saved_data["scores"] = std::string(scores);
    context->saved_data["activation"] = std::string(activation);
    context->saved_data["bias"] = b1.has_value();
    return {v, z, norms, s};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    static const auto op = find_op<Backward>("sentencode::attention_pooling_backward");
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "attention_pooling cannot be differentiated twice (create_graph=True)");
    if (!grads[0].defined()) return variable_list(9);
    const at::AutoDispatchBelowADInplaceOrView below;
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const auto [grad_h, grad_w1, grad_b1, grad_w2] =
        op.call(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6], saved[7],
                data["heads"].toInt(), data["scores"].toStringView(), data["activation"].toStringView());
    return {grad_h, {}, grad_w1, data["bias"].toBool() ? grad_b1 : Tensor(), grad_w2, {}, {}, {}, {}};
  }
};

}  // namespace

Outputs differentiable(const Tensor& h, const Tensor& offsets, const Tensor& w1, const MaybeTensor& b1,
                       const Tensor& w2, std::int64_t heads, std::string_view scores,
                       std::string_view activation, bool keep) {
  const bool needs_grad = at::GradMode::is_enabled() && (h.requires_grad() || w1.requires_grad() ||
                                                         (b1 && b1->requires_grad()) || w2.requires_grad());
  const variable_list outputs =
      AttentionPoolingFunction::apply(h, offsets, w1, b1, w2, heads, scores, activation, keep || needs_grad);
  return {outputs[0], outputs[1], outputs[2], outputs[3]};
}

}  // namespace sentencode::nn::attention_pooling_op
