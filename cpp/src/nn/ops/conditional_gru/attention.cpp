#include "nn/ops/conditional_gru/attention.h"

#include <algorithm>
#include <limits>

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kBlock = 8 * kLanes;  // dimensions of a key that are processed together

/// y = tanh(q + k), in its own loop: compilers do not vectorise it together with other work.
template <typename T>
ST_INLINE void tanh_of_sum(const T* __restrict q, const T* __restrict k, std::int64_t count,
                           T* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = fast_tanh(q[i] + k[i]);
}

template <typename T>
ST_INLINE void forward(const AttentionQuery<T>& x) {
  const std::int64_t A = x.attention, D = x.features;
  T* __restrict const weights = x.weights;
  T max = -std::numeric_limits<T>::infinity();
  for (std::int64_t j = 0; j < x.positions; ++j) {
    if (x.mask != nullptr && !x.mask[j]) continue;
    T lanes[kLanes] = {}, y[kBlock];
    for (std::int64_t i = 0; i < A; i += kBlock) {
      const std::int64_t count = std::min(kBlock, A - i);
      tanh_of_sum(x.query + i, x.keys + j * A + i, count, y);
      add_products(x.score + i, y, count, lanes);
    }
    weights[j] = total(lanes);
    max = std::max(max, weights[j]);
  }
  T sum = 0;
  for (std::int64_t j = 0; j < x.positions; ++j) {
    weights[j] = x.mask == nullptr || x.mask[j] ? fast_exp(weights[j] - max) : T(0);
    sum += weights[j];
  }
  T* __restrict const context = x.context;
  std::fill_n(context, D, T(0));
  for (std::int64_t j = 0; j < x.positions; ++j) {
    if (weights[j] == 0) continue;
    const T weight = weights[j] /= sum;
    const T* __restrict const value = x.values + j * D;
    for (std::int64_t i = 0; i < D; ++i) context[i] += weight * value[i];
  }
}

template <typename T>
ST_INLINE void backward(const AttentionQuery<T>& x, const AttentionGradients<T>& grads) {
  const std::int64_t A = x.attention, D = x.features;
  const T* __restrict const score = x.score;
  const T* __restrict const grad_context = grads.context;
  T* __restrict const grad_query = grads.query;
  T* __restrict const grad_score = grads.score;
  std::fill_n(grad_query, A, T(0));
  // Softmax: the gradient of score j is w_j (g_j - sum_i w_i g_i), where g_j = grad_context . values_j +
  // grad_weights_j, and sum_i w_i grad_context . values_i = grad_context . context.
  T mean = dot(grad_context, x.context, D);
  for (std::int64_t j = 0; j < x.positions; ++j) mean += x.weights[j] * grads.weights[j];
  for (std::int64_t j = 0; j < x.positions; ++j) {
    const T weight = x.weights[j];
    if (weight == 0) continue;
    const T* const value = x.values + j * D;
    T* __restrict const grad_value = grads.values + j * D;
    for (std::int64_t i = 0; i < D; ++i) grad_value[i] += weight * grad_context[i];
    const T grad = weight * (dot(grad_context, value, D) + grads.weights[j] - mean);
    T* __restrict const grad_key = grads.keys + j * A;
    T y[kBlock];
    for (std::int64_t i = 0; i < A; i += kBlock) {
      const std::int64_t count = std::min(kBlock, A - i);
      tanh_of_sum(x.query + i, x.keys + j * A + i, count, y);
      for (std::int64_t n = 0; n < count; ++n) {
        const T grad_sum = grad * score[i + n] * (1 - y[n] * y[n]);
        grad_score[i + n] += grad * y[n];
        grad_query[i + n] += grad_sum;
        grad_key[i + n] += grad_sum;
      }
    }
  }
}

}  // namespace

// Functions with versions for several processors cannot be templates.
#define ST_ATTENTION(T)                                                                              \
  ST_VERSIONS void attend(const AttentionQuery<T>& x) { forward(x); }                                \
  ST_VERSIONS void attend_backward(const AttentionQuery<T>& x, const AttentionGradients<T>& grads) { \
    backward(x, grads);                                                                              \
  }
ST_ATTENTION(float)
ST_ATTENTION(double)
#undef ST_ATTENTION

}  // namespace sentencode::nn
