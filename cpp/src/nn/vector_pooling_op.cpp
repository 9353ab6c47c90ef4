#include "nn/vector_pooling_op.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <tuple>

#ifdef SENTENCODE_HAVE_CUDA
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "nn/vector_pooling_kernel.h"
#endif

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::variable_list;

using Pooled =
    std::tuple<Tensor, Tensor>;  // v [B, I, d], norms [2, B, I, d]; or the gradients of scores and h
using Forward = Pooled(const Tensor&, const Tensor&, const Tensor&);
using Backward = Pooled(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&);

c10::TypedOperatorHandle<Forward> forward_op() {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("sentencode::vector_pooling", "").typed<Forward>();
  return op;
}

c10::TypedOperatorHandle<Backward> backward_op() {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("sentencode::vector_pooling_backward", "")
                             .typed<Backward>();
  return op;
}

#ifdef SENTENCODE_HAVE_CUDA
void* stream_of(const Tensor& h) { return c10::cuda::getCurrentCUDAStream(h.device().index()).stream(); }

Pooled forward_on_gpu(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  const c10::DeviceGuard device(h.device());
  return pool_vectors_on(stream_of(h), scores, h, lengths);
}

Pooled backward_on_gpu(const Tensor& g, const Tensor& scores, const Tensor& h, const Tensor& lengths,
                       const Tensor& v, const Tensor& norms) {
  const c10::DeviceGuard device(h.device());
  return pool_vectors_backward_on(stream_of(h), g, scores, h, lengths, v, norms);
}
#endif

Pooled forward_shapes(const Tensor& scores, const Tensor& h, const Tensor&) {
  const c10::SymInt batch = h.sym_size(0), heads = scores.sym_size(0), features = h.sym_size(2);
  return {h.new_empty_symint({batch, heads, features}), h.new_empty_symint({2, batch, heads, features})};
}

Pooled backward_shapes(const Tensor&, const Tensor& scores, const Tensor& h, const Tensor&, const Tensor&,
                       const Tensor&) {
  return {scores.new_empty_symint(scores.sym_sizes()), h.new_empty_symint(h.sym_sizes())};
}

class VectorPoolingFunction : public torch::autograd::Function<VectorPoolingFunction> {
 public:
  static variable_list forward(torch::autograd::AutogradContext* context, const Tensor& scores,
                               const Tensor& h, const Tensor& lengths) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [v, norms] = forward_op().call(scores, h, lengths);
    context->save_for_backward({scores, h, lengths, v, norms});
    context->mark_non_differentiable({norms});
    context->set_materialize_grads(false);
    return {v, norms};
  }

  static variable_list backward(torch::autograd::AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "vector_pooling cannot be differentiated twice (create_graph=True)");
    if (!gradients[0].defined()) return variable_list(3);
    const at::AutoDispatchBelowADInplaceOrView below;
    const variable_list saved = context->get_saved_variables();
    const auto [grad_scores, grad_h] =
        backward_op().call(gradients[0], saved[0], saved[1], saved[2], saved[3], saved[4]);
    return {grad_scores, grad_h, {}};
  }
};

Pooled differentiable(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  const variable_list outputs = VectorPoolingFunction::apply(scores, h, lengths);
  return {outputs[0], outputs[1]};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(sentencode, m) {
  m.def("vector_pooling(Tensor scores, Tensor h, Tensor lengths) -> (Tensor v, Tensor norms)");
  m.def(
      "vector_pooling_backward(Tensor g, Tensor scores, Tensor h, Tensor lengths, Tensor v, Tensor norms) -> "
      "(Tensor, Tensor)");
}

#ifdef SENTENCODE_HAVE_CUDA
TORCH_LIBRARY_IMPL(sentencode, CUDA, m) {
  m.impl("vector_pooling", &forward_on_gpu);
  m.impl("vector_pooling_backward", &backward_on_gpu);
}
#endif

TORCH_LIBRARY_IMPL(sentencode, Meta, m) {
  m.impl("vector_pooling", &forward_shapes);
  m.impl("vector_pooling_backward", &backward_shapes);
}

TORCH_LIBRARY_IMPL(sentencode, Autograd, m) { m.impl("vector_pooling", &differentiable); }

Tensor vector_pooling(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  return std::get<0>(forward_op().call(scores, h, lengths));
}

bool has_vector_pooling(const Tensor& x) {
  return !x.is_meta() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble) &&
         forward_op().hasKernelForDispatchKey(x.options().computeDispatchKey());
}

}  // namespace sentencode::nn
