#include "nn/recurrent_kernels.h"

#include <algorithm>
#include <limits>

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kLanes = 16;  // a sum in one number would be a chain that no vector can be made of

template <typename T>
ST_INLINE void step(const T* __restrict a, const T* __restrict b, const T* __restrict b_hh, const T* h,
                    std::int64_t hidden, T* __restrict gates, T* h_after) {
  const T* __restrict const a_z = a + hidden, * __restrict const a_n = a + 2 * hidden;
  const T* __restrict const b_z = b + hidden, * __restrict const b_n = b + 2 * hidden;
  const T* __restrict const c_z = b_hh + hidden, * __restrict const c_n = b_hh + 2 * hidden;
  if (gates == nullptr) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < hidden; ++i) {
      const T r = sigmoid(a[i] + (b[i] + b_hh[i])), z = sigmoid(a_z[i] + (b_z[i] + c_z[i]));
      const T n = hyperbolic_tangent(a_n[i] + r * (b_n[i] + c_n[i]));
      h_after[i] = n + z * (h[i] - n);
    }
    return;
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < hidden; ++i) {
    const T r = sigmoid(a[i] + (b[i] + b_hh[i])), z = sigmoid(a_z[i] + (b_z[i] + c_z[i]));
    const T own = b_n[i] + c_n[i], n = hyperbolic_tangent(a_n[i] + r * own);
    gates[i] = r;
    gates[hidden + i] = z;
    gates[2 * hidden + i] = n;
    gates[3 * hidden + i] = own;
    h_after[i] = n + z * (h[i] - n);
  }
}

template <typename T>
ST_INLINE void step_backward(const T* g, const T* __restrict gates, const T* __restrict h,
                             std::int64_t hidden, T* __restrict of_a, T* __restrict of_b, T* of_h) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < hidden; ++i) {
    const T r = gates[i], z = gates[hidden + i], n = gates[2 * hidden + i], own = gates[3 * hidden + i];
    const T of_n = g[i] * (1 - z) * (1 - n * n);
    const T of_r = of_n * own * r * (1 - r), of_z = g[i] * (h[i] - n) * z * (1 - z);
    of_a[i] = of_b[i] = of_r;
    of_a[hidden + i] = of_b[hidden + i] = of_z;
    of_a[2 * hidden + i] = of_n;
    of_b[2 * hidden + i] = of_n * r;
    of_h[i] = g[i] * z;
  }
}

template <typename T>
ST_INLINE T sum_of(const T (&lanes)[kLanes]) {
  T sum = 0;
  for (const T part : lanes) sum += part;
  return sum;
}

template <typename T>
ST_INLINE void look_at(const Look<T>& of) {
  const std::int64_t A = of.attention, D = of.features;
  const T* __restrict const q = of.query, * __restrict const v = of.score;
  T* __restrict const w = of.weights;
  T most = -std::numeric_limits<T>::infinity();
  for (std::int64_t j = 0; j < of.places; ++j) {
    if (of.shown != nullptr && !of.shown[j]) continue;
    const T* __restrict const k = of.keys + j * A;
    T lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= A; i += kLanes) {
      for (std::int64_t n = 0; n < kLanes; ++n)
        lanes[n] += v[i + n] * hyperbolic_tangent(q[i + n] + k[i + n]);
    }
    for (; i < A; ++i) lanes[0] += v[i] * hyperbolic_tangent(q[i] + k[i]);
    w[j] = sum_of(lanes);
    most = std::max(most, w[j]);
  }
  T sum = 0;
  for (std::int64_t j = 0; j < of.places; ++j) {
    w[j] = of.shown == nullptr || of.shown[j] ? exponential(w[j] - most) : T(0);
    sum += w[j];
  }
  T* __restrict const c = of.context;
  std::fill_n(c, D, T(0));
  for (std::int64_t j = 0; j < of.places; ++j) {
    if (w[j] == 0) continue;
    w[j] /= sum;
    const T weight = w[j];
    const T* __restrict const value = of.values + j * D;
    for (std::int64_t i = 0; i < D; ++i) c[i] += weight * value[i];
  }
}

template <typename T>
ST_INLINE void look_at_backward(const Look<T>& of, const LookGradients<T>& g) {
  const std::int64_t A = of.attention, D = of.features;
  const T* __restrict const q = of.query, * __restrict const v = of.score;
  const T* __restrict const g_c = g.context;
  T* __restrict const g_q = g.query, * __restrict const g_v = g.score;
  std::fill_n(g_q, A, T(0));
  // The softmax: the gradient of score j is w_j (g_j - sum_i w_i g_i), where sum_i w_i (g_c values_i) is g_c
  // times the context.
  T mean = 0;
  {
    T lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= D; i += kLanes) {
      for (std::int64_t n = 0; n < kLanes; ++n) lanes[n] += g_c[i + n] * of.context[i + n];
    }
    for (; i < D; ++i) lanes[0] += g_c[i] * of.context[i];
    mean = sum_of(lanes);
    for (std::int64_t j = 0; j < of.places; ++j) mean += of.weights[j] * g.weights[j];
  }
  for (std::int64_t j = 0; j < of.places; ++j) {
    const T weight = of.weights[j];
    if (weight == 0) continue;
    const T* __restrict const value = of.values + j * D;
    T* __restrict const g_value = g.values + j * D;
    T lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= D; i += kLanes) {
      for (std::int64_t n = 0; n < kLanes; ++n) {
        lanes[n] += g_c[i + n] * value[i + n];
        g_value[i + n] += weight * g_c[i + n];
      }
    }
    for (; i < D; ++i) {
      lanes[0] += g_c[i] * value[i];
      g_value[i] += weight * g_c[i];
    }
    const T of_score = weight * (sum_of(lanes) + g.weights[j] - mean);
    const T* __restrict const k = of.keys + j * A;
    T* __restrict const g_k = g.keys + j * A;
    for (i = 0; i < A; ++i) {
      const T t = hyperbolic_tangent(q[i] + k[i]), inner = of_score * v[i] * (1 - t * t);
      g_v[i] += of_score * t;
      g_q[i] += inner;
      g_k[i] += inner;
    }
  }
}

}  // namespace

// Functions with versions cannot be templates.
#define ST_RECURRENT_OF(T)                                                                                 \
  ST_VERSIONS void gru_step(const T* a, const T* b, const T* b_hh, const T* h, std::int64_t hidden,        \
                            T* gates, T* h_after) {                                                        \
    step(a, b, b_hh, h, hidden, gates, h_after);                                                           \
  }                                                                                                        \
  ST_VERSIONS void gru_step_backward(const T* g, const T* gates, const T* h, std::int64_t hidden, T* of_a, \
                                     T* of_b, T* of_h) {                                                   \
    step_backward(g, gates, h, hidden, of_a, of_b, of_h);                                                  \
  }                                                                                                        \
  ST_VERSIONS void look(const Look<T>& of) { look_at(of); }                                                \
  ST_VERSIONS void look_backward(const Look<T>& of, const LookGradients<T>& g) { look_at_backward(of, g); }
ST_RECURRENT_OF(float)
ST_RECURRENT_OF(double)
#undef ST_RECURRENT_OF

}  // namespace sentencode::nn
