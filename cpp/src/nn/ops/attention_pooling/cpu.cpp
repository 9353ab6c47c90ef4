#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <algorithm>

#include "nn/ops/attention_pooling/op.h"
#include "nn/vectorised.h"

namespace sentencode::nn::attention_pooling_op {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr std::int64_t kColumns = 128;      // of vector scores that one task pools: its sums stay in L1
constexpr std::int64_t kGrain = 16 * 1024;  // multiplications per thread, at least

/// One sentence and one group. With vector scores `columns` dimensions of h, otherwise all d.
///   s [t, S], h [t, d], max and sum [S], v and grad_v [d], scalar scores: [I, d]
template <typename T>
struct Sentence {
  std::int64_t words, features, columns, heads;  // t, d, -, I
  const T *s, *h;
  T *max, *sum, *v;
  const T* grad_v = nullptr;
  T *grad_s = nullptr, *grad_h = nullptr;
};

/// A_t = exp(s_t - max) / sum, v = sum_t A_t * h_t, dimension by dimension.
template <typename T>
ST_INLINE void pool_vectors(const Sentence<T>& x) {
  const std::int64_t d = x.features, columns = x.columns;
  T* const __restrict max = x.max, * const __restrict sum = x.sum, * const __restrict v = x.v;
  std::copy_n(x.s, columns, max);
  for (std::int64_t t = 1; t < x.words; ++t) {
    const T* const __restrict s = x.s + t * d;
    for (std::int64_t j = 0; j < columns; ++j) max[j] = std::max(max[j], s[j]);
  }
  for (std::int64_t j = 0; j < columns; ++j) sum[j] = v[j] = 0;
  for (std::int64_t t = 0; t < x.words; ++t) {
    const T* const __restrict s = x.s + t * d, * const __restrict h = x.h + t * d;
    for (std::int64_t j = 0; j < columns; ++j) {
      const T e = fast_exp(s[j] - max[j]);
      sum[j] += e;
      v[j] += e * h[j];
    }
  }
  for (std::int64_t j = 0; j < columns; ++j) v[j] /= sum[j];
}

/// grad_s_t = A_t * grad_v * (h_t - v); adds A_t * grad_v to grad_h_t.
template <typename T>
ST_INLINE void pool_vectors_backward(const Sentence<T>& x) {
  const std::int64_t d = x.features, columns = x.columns;
  const T* const __restrict max = x.max, * const __restrict v = x.v;
  T scaled[kColumns];  // grad_v / sum
  for (std::int64_t j = 0; j < columns; ++j) scaled[j] = x.grad_v[j] / x.sum[j];
  for (std::int64_t t = 0; t < x.words; ++t) {
    const T* const __restrict s = x.s + t * d, * const __restrict h = x.h + t * d;
    T* const __restrict grad_s = x.grad_s + t * d, * const __restrict grad_h = x.grad_h + t * d;
    for (std::int64_t j = 0; j < columns; ++j) {
      const T grad = fast_exp(s[j] - max[j]) * scaled[j];
      grad_h[j] += grad;
      grad_s[j] = grad * (h[j] - v[j]);
    }
  }
}

/// A_t,i = exp(s_t,i - max_i) / sum_i, v_i = sum_t A_t,i h_t.
template <typename T>
ST_INLINE void pool_scalars(const Sentence<T>& x) {
  const std::int64_t d = x.features, heads = x.heads;
  for (std::int64_t i = 0; i < heads; ++i) {
    T* const __restrict v = x.v + i * d;
    T max = x.s[i], sum = 0;
    for (std::int64_t t = 1; t < x.words; ++t) max = std::max(max, x.s[t * heads + i]);
    std::fill_n(v, d, T(0));
    for (std::int64_t t = 0; t < x.words; ++t) {
      const T* const __restrict h = x.h + t * d;
      const T e = fast_exp(x.s[t * heads + i] - max);
      sum += e;
      for (std::int64_t j = 0; j < d; ++j) v[j] += e * h[j];
    }
    for (std::int64_t j = 0; j < d; ++j) v[j] /= sum;
    x.max[i] = max;
    x.sum[i] = sum;
  }
}

/// grad_s_t,i = A_t,i grad_v_i . (h_t - v_i); adds sum_i A_t,i grad_v_i to grad_h_t.
template <typename T>
ST_INLINE void pool_scalars_backward(const Sentence<T>& x) {
  const std::int64_t d = x.features, heads = x.heads;
  for (std::int64_t i = 0; i < heads; ++i) {
    const T* const __restrict grad_v = x.grad_v + i * d;
    const T mean = dot(grad_v, x.v + i * d, d);
    for (std::int64_t t = 0; t < x.words; ++t) {
      T* const __restrict grad_h = x.grad_h + t * d;
      const T a = fast_exp(x.s[t * heads + i] - x.max[i]) / x.sum[i];
      x.grad_s[t * heads + i] = a * (dot(grad_v, x.h + t * d, d) - mean);
      for (std::int64_t j = 0; j < d; ++j) grad_h[j] += a * grad_v[j];
    }
  }
}

// Functions with versions for several processors cannot be templates.
#define ST_POOLING(T)                                                                                      \
  ST_VERSIONS void pool(const Sentence<T>& x, bool scalar) { scalar ? pool_scalars(x) : pool_vectors(x); } \
  ST_VERSIONS void pool_backward(const Sentence<T>& x, bool scalar) {                                      \
    scalar ? pool_scalars_backward(x) : pool_vectors_backward(x);                                          \
  }
ST_POOLING(float)
ST_POOLING(double)
#undef ST_POOLING

/// Calls body(b, from, columns) for all sentences with words, and with vector scores for blocks of their
/// dimensions, on all threads.
template <typename Body>
void for_sentences(const Sizes& n, const std::int64_t* offset, const Body& body) {
  const std::int64_t blocks = n.scalar ? 1 : (n.features + kColumns - 1) / kColumns;
  const std::int64_t tasks = n.sentences * blocks, work = n.words * n.features * (n.heads / n.groups);
  if (work == 0) return;
  at::parallel_for(0, tasks, std::max<std::int64_t>(1, kGrain * tasks / work),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t task = begin; task < end; ++task) {
                       const std::int64_t b = task / blocks, from = task % blocks * kColumns;
                       if (offset[b] == offset[b + 1]) continue;
                       body(b, from, std::min(kColumns, n.features - from));
                     }
                   });
}

/// One group of a batch, all tensors contiguous. Gradients are undefined in forward.
void pool_group(const Sizes& n, std::int64_t group, const Tensor& h, const Tensor& offsets, const Tensor& s,
                const Tensor& norms, const Tensor& v, const Tensor& grad_v = {}, const Tensor& grad_s = {},
                const Tensor& grad_h = {}) {
  const auto* const offset = offsets.const_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "attention_pooling", [&] {
    using T = scalar_t;
    T* const max = norms.mutable_data_ptr<T>();
    for_sentences(n, offset, [&](std::int64_t b, std::int64_t from, std::int64_t columns) {
      const std::int64_t word = offset[b] * n.features + from, score = offset[b] * n.scores + from;
      const std::int64_t norm = (b * n.groups + group) * n.scores + from;
      const std::int64_t head = (b * n.heads + group) * n.features + from;
      Sentence<T> x{.words = offset[b + 1] - offset[b],
                    .features = n.features,
                    .columns = columns,
                    .heads = n.heads,
                    .s = s.const_data_ptr<T>() + score,
                    .h = h.const_data_ptr<T>() + word,
                    .max = max + norm,
                    .sum = max + norms.stride(0) + norm,
                    .v = v.mutable_data_ptr<T>() + head};
      if (!grad_v.defined()) return pool(x, n.scalar);
      x.grad_v = grad_v.const_data_ptr<T>() + head;
      x.grad_s = grad_s.mutable_data_ptr<T>() + score;
      x.grad_h = grad_h.mutable_data_ptr<T>() + word;
      pool_backward(x, n.scalar);
    });
  });
}

/// z and W2 of one group.
Tensor hidden_of(const Sizes& n, const Tensor& z, std::int64_t group) {
  return z.narrow(1, group * n.hidden, n.hidden);  // [R, d_a]
}
Tensor scores_of(const Sizes& n, const Tensor& w2, std::int64_t group) {
  return w2.narrow(0, group * n.scores, n.scores);  // [S, d_a]
}

}  // namespace

/// z = f(h W1^T + b1), s = z W2^T
Outputs forward_cpu(const Tensor& any_h, const Tensor& any_offsets, const Tensor& w1, const MaybeTensor& b1,
                    const Tensor& w2, std::int64_t heads, std::string_view scores,
                    std::string_view activation, bool keep) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Sizes n(any_h, any_offsets, w1, b1, w2, heads, scores, activation);
  const Tensor h = any_h.contiguous(), offsets = any_offsets.contiguous();
  Tensor z = at::linear(h, w1, b1);  // [R, G d_a]
  n.relu ? z.relu_() : z.tanh_();
  const Tensor v = at::zeros({n.sentences, heads * n.features}, h.options());          // [B, I d]
  const Tensor norms = at::zeros({2, n.sentences, n.groups * n.scores}, h.options());  // [2, B, G S]
  const Tensor s = at::empty({keep ? n.groups : 1, n.words, n.scores}, h.options());   // [G, R, S]
  for (std::int64_t group = 0; group < n.groups; ++group) {
    Tensor s_group = s[keep ? group : 0];  // [R, S]
    at::mm_out(s_group, hidden_of(n, z, group), scores_of(n, w2, group).t());
    pool_group(n, group, h, offsets, s_group, norms, v);
  }
  if (keep) return {v, z, norms, s};
  return {v, h.new_empty({0, w1.size(0)}), norms, h.new_empty({n.groups, 0, n.scores})};
}

Gradients backward_cpu(const Tensor& any_grad_v, const Tensor& any_h, const Tensor& any_offsets,
                       const Tensor& w1, const Tensor& w2, const Tensor& any_v, const Tensor& any_z,
                       const Tensor& any_norms, const Tensor& any_s, std::int64_t heads,
                       std::string_view scores, std::string_view activation) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Sizes n(any_h, any_offsets, w1, std::nullopt, w2, heads, scores, activation);
  n.check_backward(any_grad_v, any_h, any_v, any_z, any_norms, any_s);
  const Tensor grad_v = any_grad_v.contiguous(), h = any_h.contiguous(), offsets = any_offsets.contiguous();
  const Tensor v = any_v.contiguous(), z = any_z.contiguous(), norms = any_norms.contiguous();
  const Tensor s = any_s.contiguous();
  Tensor grad_h = at::zeros_like(h);                                  // [R, d]
  Tensor grad_z = at::empty_like(z);                                  // [R, G d_a]
  const Tensor grad_w2 = at::empty(w2.sizes(), w2.options());         // [G S, d_a]
  const Tensor grad_s = at::empty({n.words, n.scores}, s.options());  // [R, S]
  for (std::int64_t group = 0; group < n.groups; ++group) {
    pool_group(n, group, h, offsets, s[group], norms, v, grad_v, grad_s, grad_h);
    Tensor grad_w2_group = scores_of(n, grad_w2, group), grad_z_group = hidden_of(n, grad_z, group);
    at::mm_out(grad_w2_group, grad_s.t(), hidden_of(n, z, group));
    at::mm_out(grad_z_group, grad_s, scores_of(n, w2, group));
  }
  n.relu ? at::threshold_backward_out(grad_z, grad_z, z, 0) : at::tanh_backward_out(grad_z, grad_z, z);
  grad_h.addmm_(grad_z, w1);
  return {grad_h, grad_z.t().mm(h), grad_z.sum(0), grad_w2};
}

}  // namespace sentencode::nn::attention_pooling_op
