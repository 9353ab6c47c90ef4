#include "nn/ops/vector_pooling/op.h"

#include <torch/library.h>

#include "nn/ops/dispatch.h"

#ifdef SENTENCODE_HAVE_CUDA
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "nn/ops/vector_pooling/kernel.h"
#endif

namespace sentencode::nn {

using at::Tensor;

namespace vector_pooling_op {
namespace {

#ifdef SENTENCODE_HAVE_CUDA
void* stream_of(const Tensor& h) { return c10::cuda::getCurrentCUDAStream(h.device().index()).stream(); }

Pair forward_cuda(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  const c10::DeviceGuard device(h.device());
  return forward_on(stream_of(h), scores, h, lengths);
}

Pair backward_cuda(const Tensor& grad_v, const Tensor& scores, const Tensor& h, const Tensor& lengths,
                   const Tensor& v, const Tensor& norms) {
  const c10::DeviceGuard device(h.device());
  return backward_on(stream_of(h), grad_v, scores, h, lengths, v, norms);
}
#endif

Pair forward_shapes(const Tensor& scores, const Tensor& h, const Tensor&) {
  const c10::SymInt batch = h.sym_size(0), heads = scores.sym_size(0), features = h.sym_size(2);
  return {h.new_empty_symint({batch, heads, features}), h.new_empty_symint({2, batch, heads, features})};
}

Pair backward_shapes(const Tensor&, const Tensor& scores, const Tensor& h, const Tensor&, const Tensor&,
                     const Tensor&) {
  return {scores.new_empty_symint(scores.sym_sizes()), h.new_empty_symint(h.sym_sizes())};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(sentencode, m) {
  m.def("vector_pooling(Tensor scores, Tensor h, Tensor lengths) -> (Tensor v, Tensor norms)");
  m.def(
      "vector_pooling_backward(Tensor grad_v, Tensor scores, Tensor h, Tensor lengths, Tensor v, Tensor "
      "norms) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(sentencode, Autograd, m) { m.impl("vector_pooling", &differentiable); }

#ifdef SENTENCODE_HAVE_CUDA
TORCH_LIBRARY_IMPL(sentencode, CUDA, m) {
  m.impl("vector_pooling", &forward_cuda);
  m.impl("vector_pooling_backward", &backward_cuda);
}
#endif

TORCH_LIBRARY_IMPL(sentencode, Meta, m) {
  m.impl("vector_pooling", &forward_shapes);
  m.impl("vector_pooling_backward", &backward_shapes);
}

}  // namespace vector_pooling_op

Tensor vector_pooling(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  static const auto op = find_op<vector_pooling_op::Forward>("sentencode::vector_pooling");
  return std::get<0>(op.call(scores, h, lengths));
}

bool has_vector_pooling(const Tensor& x) {
  static const auto op = find_op<vector_pooling_op::Forward>("sentencode::vector_pooling");
  return !x.is_meta() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble) &&
         op.hasKernelForDispatchKey(x.options().computeDispatchKey());
}

}  // namespace sentencode::nn
