#include "nn/ops/recurrent/kernels.h"

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

template <typename T>
ST_INLINE void gru(const T* __restrict a, const T* __restrict u, const T* __restrict b_n, std::int64_t hidden,
                   T* __restrict gates, T* __restrict h, T* __restrict output) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T r = sigmoid(a[k] + u[k]), z = sigmoid(a[hidden + k] + u[hidden + k]);
    const T q = u[2 * hidden + k] + b_n[k];
    const T n = fast_tanh(a[2 * hidden + k] + r * q);
    gates[k] = r;
    gates[hidden + k] = z;
    gates[2 * hidden + k] = n;
    gates[3 * hidden + k] = q;
    output[k] = h[k] = n + z * (h[k] - n);
  }
}

template <typename T>
ST_INLINE void gru_backward(const T* __restrict gates, const T* __restrict h, std::int64_t hidden,
                            T* __restrict grad_h, T* __restrict grad_a, T* __restrict grad_u) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T r = gates[k], z = gates[hidden + k], n = gates[2 * hidden + k], q = gates[3 * hidden + k];
    const T grad = grad_h[k];
    const T grad_n = grad * (1 - z) * (1 - n * n);
    grad_a[k] = grad_u[k] = grad_n * q * r * (1 - r);
    grad_a[hidden + k] = grad_u[hidden + k] = grad * (h[k] - n) * z * (1 - z);
    grad_a[2 * hidden + k] = grad_n;
    grad_u[2 * hidden + k] = grad_n * r;
    grad_h[k] = grad * z;
  }
}

template <typename T>
ST_INLINE void lstm(const T* __restrict u, std::int64_t hidden, T* __restrict gates, T* __restrict h,
                    T* __restrict c, T* __restrict output, T* __restrict cell) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T i = sigmoid(gates[k] + u[k]), f = sigmoid(gates[hidden + k] + u[hidden + k]);
    const T g = fast_tanh(gates[2 * hidden + k] + u[2 * hidden + k]);
    const T o = sigmoid(gates[3 * hidden + k] + u[3 * hidden + k]);
    gates[k] = i;
    gates[hidden + k] = f;
    gates[2 * hidden + k] = g;
    gates[3 * hidden + k] = o;
    cell[k] = c[k] = f * c[k] + i * g;
    output[k] = h[k] = o * fast_tanh(c[k]);
  }
}

template <typename T>
ST_INLINE void lstm_backward(const T* __restrict gates, const T* __restrict previous,
                             const T* __restrict cell, std::int64_t hidden, const T* __restrict grad_h,
                             T* __restrict grad_c, T* __restrict grad_a) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T i = gates[k], f = gates[hidden + k], g = gates[2 * hidden + k], o = gates[3 * hidden + k];
    const T tanh_c = fast_tanh(cell[k]);
    const T grad = grad_c[k] + grad_h[k] * o * (1 - tanh_c * tanh_c);
    grad_a[k] = grad * g * i * (1 - i);
    grad_a[hidden + k] = grad * previous[k] * f * (1 - f);
    grad_a[2 * hidden + k] = grad * i * (1 - g * g);
    grad_a[3 * hidden + k] = grad_h[k] * tanh_c * o * (1 - o);
    grad_c[k] = grad * f;
  }
}

}  // namespace

// Functions with versions for several processors cannot be templates.
#define ST_STEPS(T)                                                                                          \
  ST_VERSIONS void gru_step(const T* a, const T* u, const T* b_n, std::int64_t hidden, T* gates, T* h,       \
                            T* output) {                                                                     \
    gru(a, u, b_n, hidden, gates, h, output);                                                                \
  }                                                                                                          \
  ST_VERSIONS void gru_step_backward(const T* gates, const T* h, std::int64_t hidden, T* grad_h, T* grad_a,  \
                                     T* grad_u) {                                                            \
    gru_backward(gates, h, hidden, grad_h, grad_a, grad_u);                                                  \
  }                                                                                                          \
  ST_VERSIONS void lstm_step(const T* u, std::int64_t hidden, T* gates, T* h, T* c, T* output, T* cell) {    \
    lstm(u, hidden, gates, h, c, output, cell);                                                              \
  }                                                                                                          \
  ST_VERSIONS void lstm_step_backward(const T* gates, const T* previous, const T* cell, std::int64_t hidden, \
                                      const T* grad_h, T* grad_c, T* grad_a) {                               \
    lstm_backward(gates, previous, cell, hidden, grad_h, grad_c, grad_a);                                    \
  }
ST_STEPS(float)
ST_STEPS(double)
#undef ST_STEPS

}  // namespace sentencode::nn
