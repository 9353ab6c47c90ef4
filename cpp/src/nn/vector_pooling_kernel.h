// The operator's work on tensors, whichever device runs the kernel: a GPU, or in tests an emulated one.
// Static, so that each has its own.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <tuple>

#include "cuda/generalized_pooling.h"
#include "sentencode/error.h"

namespace sentencode::nn {

static void check_vector_pooling(const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths) {
  TORCH_CHECK_VALUE(h.dim() == 3 && (h.scalar_type() == at::kFloat || h.scalar_type() == at::kDouble),
                    "vector_pooling: h must be float or double [batch, time, features], got ", h.dtype(), " ",
                    h.sizes());
  TORCH_CHECK_VALUE(scores.dim() == 4 && scores.sizes().slice(1) == h.sizes() &&
                        scores.scalar_type() == h.scalar_type() && scores.device() == h.device(),
                    "vector_pooling: scores must be ", h.dtype(), " [heads, ", h.size(0), ", ", h.size(1),
                    ", ", h.size(2), "] on ", h.device(), ", got ", scores.dtype(), " ", scores.sizes(),
                    " on ", scores.device());
  TORCH_CHECK_VALUE(lengths.dim() == 1 && lengths.size(0) == h.size(0) &&
                        lengths.scalar_type() == at::kLong && lengths.device() == h.device(),
                    "vector_pooling: lengths must be int64 [", h.size(0), "] on ", h.device(), ", got ",
                    lengths.dtype(), " ", lengths.sizes(), " on ", lengths.device());
}

/// All contiguous.
template <typename T>
static VectorPooling<T> vector_pooling_job(const at::Tensor& scores, const at::Tensor& h,
                                           const at::Tensor& lengths, const at::Tensor& v,
                                           const at::Tensor& norms) {
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

static void check_kernel(int status) {
  ST_CHECK(status == 0, InternalError, "vector_pooling: the kernel failed with CUDA error ", status);
}

/// v [B, I, d], norms [2, B, I, d]
static std::tuple<at::Tensor, at::Tensor> pool_vectors_on(void* stream, const at::Tensor& scores_any,
                                                          const at::Tensor& h_any,
                                                          const at::Tensor& lengths_any) {
  check_vector_pooling(scores_any, h_any, lengths_any);
  const at::Tensor scores = scores_any.contiguous(), h = h_any.contiguous();
  const at::Tensor lengths = lengths_any.contiguous();
  const at::Tensor v = at::empty({h.size(0), scores.size(0), h.size(2)}, h.options());
  const at::Tensor norms = at::empty({2, h.size(0), scores.size(0), h.size(2)}, h.options());
  if (v.numel() == 0) return {v, norms};
  AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "vector_pooling", [&] {
    check_kernel(pool_vectors(vector_pooling_job<scalar_t>(scores, h, lengths, v, norms), stream));
  });
  return {v, norms};
}

/// The gradients of scores and h.
static std::tuple<at::Tensor, at::Tensor> pool_vectors_backward_on(
    void* stream, const at::Tensor& g_any, const at::Tensor& scores_any, const at::Tensor& h_any,
    const at::Tensor& lengths_any, const at::Tensor& v_any, const at::Tensor& norms_any) {
  check_vector_pooling(scores_any, h_any, lengths_any);
  const at::Tensor g = g_any.contiguous(), scores = scores_any.contiguous(), h = h_any.contiguous();
  const at::Tensor lengths = lengths_any.contiguous(), v = v_any.contiguous(), norms = norms_any.contiguous();
  const std::int64_t batch = h.size(0), heads = scores.size(0), features = h.size(2);
  const auto check = [&](const char* name, const at::Tensor& tensor, at::IntArrayRef shape) {
    TORCH_CHECK_VALUE(
        tensor.sizes() == shape && tensor.scalar_type() == h.scalar_type() && tensor.device() == h.device(),
        "vector_pooling_backward: ", name, " must be ", h.dtype(), " ", shape, " on ", h.device(), ", got ",
        tensor.dtype(), " ", tensor.sizes(), " on ", tensor.device());
  };
  check("g", g, {batch, heads, features});
  check("v", v, {batch, heads, features});
  check("norms", norms, {2, batch, heads, features});
  const at::Tensor grad_scores = at::empty_like(scores), grad_h = at::empty_like(h);
  if (h.numel() == 0) return {grad_scores, grad_h};
  AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "vector_pooling_backward", [&] {
    auto job = vector_pooling_job<scalar_t>(scores, h, lengths, v, norms);
    job.gradient = g.const_data_ptr<scalar_t>();
    job.grad_scores = grad_scores.mutable_data_ptr<scalar_t>();
    job.grad_h = grad_h.mutable_data_ptr<scalar_t>();
    check_kernel(pool_vectors_backward(job, stream));
  });
  return {grad_scores, grad_h};
}

}  // namespace sentencode::nn
