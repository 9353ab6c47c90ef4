#include "nn/recurrent_kernels.h"

#include <algorithm>
#include <limits>

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kLanes = 16;  // a sum in one number would be a chain that no vector can be made of

/// One word of a GRU, of a = W x + b, to which its own product W h is added.
///   gates: r = s(a_r), z = s(a_z), n = tanh(a_n + r q), q = (W h)_n + c;  h = n + z (h - n)
template <typename T>
ST_INLINE void gru_word(T* __restrict gates, const T* __restrict a, const T* __restrict own,
                        const T* __restrict c, std::int64_t hidden, T* __restrict h, T* __restrict output) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T r = sigmoid(a[k] + own[k]), z = sigmoid(a[hidden + k] + own[hidden + k]);
    const T q = own[2 * hidden + k] + c[k];
    const T n = tanh_of(a[2 * hidden + k] + r * q);
    gates[k] = r;
    gates[hidden + k] = z;
    gates[2 * hidden + k] = n;
    gates[3 * hidden + k] = q;
    output[k] = h[k] = n + z * (h[k] - n);
  }
}

/// Its gradients: of what x brings, in `of_x` (r, z, n), of what h brings, in `of_h` (r, z, q), and of h as
/// far as it is not by `of_h`, in place of the gradient of the output.
template <typename T>
ST_INLINE void gru_word_backward(const T* __restrict gates, const T* __restrict before, std::int64_t hidden,
                                 T* __restrict gradient, T* __restrict of_x, T* __restrict of_h) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T r = gates[k], z = gates[hidden + k], n = gates[2 * hidden + k], q = gates[3 * hidden + k];
    const T g = gradient[k];
    const T of_n = g * (1 - z) * (1 - n * n);
    of_x[k] = of_h[k] = of_n * q * r * (1 - r);
    of_x[hidden + k] = of_h[hidden + k] = g * (before[k] - n) * z * (1 - z);
    of_x[2 * hidden + k] = of_n;
    of_h[2 * hidden + k] = of_n * r;
    gradient[k] = g * z;
  }
}

/// One word of an LSTM; `gates` hold a = W x + b and then the gates.
///   i, f, o = s(a), g = tanh(a);  c = f c + i g, h = o tanh(c)
template <typename T>
ST_INLINE void lstm_word(T* __restrict gates, const T* __restrict own, std::int64_t hidden, T* __restrict h,
                         T* __restrict c, T* __restrict output, T* __restrict kept) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T i = sigmoid(gates[k] + own[k]), f = sigmoid(gates[hidden + k] + own[hidden + k]);
    const T g = tanh_of(gates[2 * hidden + k] + own[2 * hidden + k]);
    const T o = sigmoid(gates[3 * hidden + k] + own[3 * hidden + k]);
    gates[k] = i;
    gates[hidden + k] = f;
    gates[2 * hidden + k] = g;
    gates[3 * hidden + k] = o;
    kept[k] = c[k] = f * c[k] + i * g;
    output[k] = h[k] = o * tanh_of(c[k]);
  }
}

/// Its gradients: of a in `of_gates`, and of the cell before in place of that of the cell.
template <typename T>
ST_INLINE void lstm_word_backward(const T* __restrict gates, const T* __restrict before,
                                  const T* __restrict cell, std::int64_t hidden, const T* __restrict gradient,
                                  T* __restrict of_cell, T* __restrict of_gates) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T i = gates[k], f = gates[hidden + k], g = gates[2 * hidden + k], o = gates[3 * hidden + k];
    const T shown = tanh_of(cell[k]);
    const T of_c = of_cell[k] + gradient[k] * o * (1 - shown * shown);
    of_gates[k] = of_c * g * i * (1 - i);
    of_gates[hidden + k] = of_c * before[k] * f * (1 - f);
    of_gates[2 * hidden + k] = of_c * i * (1 - g * g);
    of_gates[3 * hidden + k] = gradient[k] * shown * o * (1 - o);
    of_cell[k] = of_c * f;
  }
}

template <typename T>
ST_INLINE T sum_of(const T (&lanes)[kLanes]) {
  T sum = 0;
  for (const T part : lanes) sum += part;
  return sum;
}

constexpr std::int64_t kSome = 8 * kLanes;  // numbers of a key that are gone through at once

/// t = tanh(q + k), in a loop of its own: compilers make no vectors of it beside other work.
template <typename T>
ST_INLINE void tanh_of_sums(const T* __restrict q, const T* __restrict k, std::int64_t some,
                            T* __restrict t) {
  for (std::int64_t n = 0; n < some; ++n) t[n] = tanh_of(q[n] + k[n]);
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
    for (std::int64_t i = 0; i < A; i += kSome) {
      const std::int64_t some = std::min(kSome, A - i);
      T t[kSome];
      tanh_of_sums(q + i, k + i, some, t);
      std::int64_t at = 0;
      for (; at + kLanes <= some; at += kLanes) {
        for (std::int64_t n = 0; n < kLanes; ++n) lanes[n] += v[i + at + n] * t[at + n];
      }
      for (; at < some; ++at) lanes[0] += v[i + at] * t[at];
    }
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
    for (i = 0; i < A; i += kSome) {
      const std::int64_t some = std::min(kSome, A - i);
      T t[kSome];
      tanh_of_sums(q + i, k + i, some, t);
      for (std::int64_t n = 0; n < some; ++n) {
        const T inner = of_score * v[i + n] * (1 - t[n] * t[n]);
        g_v[i + n] += of_score * t[n];
        g_q[i + n] += inner;
        g_k[i + n] += inner;
      }
    }
  }
}

}  // namespace

// Functions with versions cannot be templates.
#define ST_WORDS_OF(T)                                                                                      \
  ST_VERSIONS void gru_step(T* gates, const T* a, const T* own, const T* c, std::int64_t hidden, T* h,      \
                            T* output) {                                                                    \
    gru_word(gates, a, own, c, hidden, h, output);                                                          \
  }                                                                                                         \
  ST_VERSIONS void gru_step_backward(const T* gates, const T* before, std::int64_t hidden, T* gradient,     \
                                     T* of_x, T* of_h) {                                                    \
    gru_word_backward(gates, before, hidden, gradient, of_x, of_h);                                         \
  }                                                                                                         \
  ST_VERSIONS void lstm_step(T* gates, const T* own, std::int64_t hidden, T* h, T* c, T* output, T* kept) { \
    lstm_word(gates, own, hidden, h, c, output, kept);                                                      \
  }                                                                                                         \
  ST_VERSIONS void lstm_step_backward(const T* gates, const T* before, const T* cell, std::int64_t hidden,  \
                                      const T* gradient, T* of_cell, T* of_gates) {                         \
    lstm_word_backward(gates, before, cell, hidden, gradient, of_cell, of_gates);                           \
  }                                                                                                         \
  ST_VERSIONS void look(const Look<T>& of) { look_at(of); }                                                 \
  ST_VERSIONS void look_backward(const Look<T>& of, const LookGradients<T>& g) { look_at_backward(of, g); }
ST_WORDS_OF(float)
ST_WORDS_OF(double)
#undef ST_WORDS_OF

}  // namespace sentencode::nn
