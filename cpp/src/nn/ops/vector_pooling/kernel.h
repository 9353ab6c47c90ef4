// Calls the kernel on tensors. Static, because the library and a test's emulated GPU each have their own.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <tuple>

#include "cuda/generalized_pooling.h"
#include "nn/checks.h"
#include "sentencode/error.h"

namespace sentencode::nn::vector_pooling_op {

static void check_inputs(const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths) {
  check_tensor("vector_pooling: h", h, Type::float_or_double, {"batch", "time", "features"});
  check_tensor("vector_pooling: scores", scores, h, {"heads", h.size(0), h.size(1), h.size(2)});
  check_tensor("vector_pooling: lengths", lengths, Type::int64, {h.size(0)}, h.device());
}

/// All tensors are contiguous.
template <typename T>
static VectorPooling<T> job_of(const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths,
                               const at::Tensor& v, const at::Tensor& norms) {
  return {.sentences = h.size(0),
          .time = h.size(1),
          .features = h.size(2),
          .heads = scores.size(0),
          .lengths = lengths.const_data_ptr<std::int64_t>(),
          .scores = scores.const_data_ptr<T>(),
          .h = h.const_data_ptr<T>(),
          .pooled = v.mutable_data_ptr<T>(),
          .most = norms.mutable_data_ptr<T>(),
          .sums = norms.mutable_data_ptr<T>() + v.numel()};
}

static void check_status(int status) {
  ST_CHECK(status == 0, InternalError, "vector_pooling: the kernel failed with CUDA error ", status);
}

static std::tuple<at::Tensor, at::Tensor> forward_on(void* stream, const at::Tensor& any_scores,
                                                     const at::Tensor& any_h, const at::Tensor& any_lengths) {
  check_inputs(any_scores, any_h, any_lengths);
  const at::Tensor scores = any_scores.contiguous(), h = any_h.contiguous();
  const at::Tensor lengths = any_lengths.contiguous();
  const at::Tensor v = at::empty({h.size(0), scores.size(0), h.size(2)}, h.options());
  const at::Tensor norms = at::empty({2, h.size(0), scores.size(0), h.size(2)}, h.options());
  if (v.numel() == 0) return {v, norms};
  AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "vector_pooling", [&] {
    check_status(pool_vectors(job_of<scalar_t>(scores, h, lengths, v, norms), stream));
  });
  return {v, norms};
}

static std::tuple<at::Tensor, at::Tensor> backward_on(void* stream, const at::Tensor& any_grad_v,
                                                      const at::Tensor& any_scores, const at::Tensor& any_h,
                                                      const at::Tensor& any_lengths, const at::Tensor& any_v,
                                                      const at::Tensor& any_norms) {
  check_inputs(any_scores, any_h, any_lengths);
  const at::Tensor scores = any_scores.contiguous(), h = any_h.contiguous();
  const at::Tensor lengths = any_lengths.contiguous(), v = any_v.contiguous(), norms = any_norms.contiguous();
  const at::Tensor grad_v = any_grad_v.contiguous();
  const std::int64_t batch = h.size(0), heads = scores.size(0), features = h.size(2);
  check_tensor("vector_pooling_backward: grad_v", grad_v, h, {batch, heads, features});
  check_tensor("vector_pooling_backward: v", v, h, {batch, heads, features});
  check_tensor("vector_pooling_backward: norms", norms, h, {2, batch, heads, features});
  const at::Tensor grad_scores = at::empty_like(scores), grad_h = at::empty_like(h);
  if (h.numel() == 0) return {grad_scores, grad_h};
  AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "vector_pooling_backward", [&] {
    auto job = job_of<scalar_t>(scores, h, lengths, v, norms);
    job.gradient = grad_v.const_data_ptr<scalar_t>();
    job.grad_scores = grad_scores.mutable_data_ptr<scalar_t>();
    job.grad_h = grad_h.mutable_data_ptr<scalar_t>();
    check_status(pool_vectors_backward(job, stream));
  });
  return {grad_scores, grad_h};
}

}  // namespace sentencode::nn::vector_pooling_op
