// The hot loops of recurrent layers, on plain memory: what a step does to one sentence, forward and backward.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// One word of a GRU, of a = W x + b, to which its own product W h is added; c [H] is the bias inside r
/// (...).
///   gates: r = s(a_r), z = s(a_z), n = tanh(a_n + r q), q = (W h)_n + c [4 H];  h = n + z (h - n)
void gru_step(float* gates, const float* a, const float* own, const float* c, std::int64_t hidden, float* h,
              float* output);
void gru_step(double* gates, const double* a, const double* own, const double* c, std::int64_t hidden,
              double* h, double* output);

/// Its gradients: of what x brings, in `of_x` (r, z, n), of what h brings, in `of_h` (r, z, q), and of h as
/// far as it is not by `of_h`, in place of the gradient of the output. `before` is the h that it met.
void gru_step_backward(const float* gates, const float* before, std::int64_t hidden, float* gradient,
                       float* of_x, float* of_h);
void gru_step_backward(const double* gates, const double* before, std::int64_t hidden, double* gradient,
                       double* of_x, double* of_h);

/// One word of an LSTM; `gates` [4 H] hold a = W x + b and then the gates.
///   i, f, o = s(a), g = tanh(a);  c = f c + i g, h = o tanh(c)
void lstm_step(float* gates, const float* own, std::int64_t hidden, float* h, float* c, float* output,
               float* kept);
void lstm_step(double* gates, const double* own, std::int64_t hidden, double* h, double* c, double* output,
               double* kept);

/// Its gradients: of a in `of_gates`, and of the cell before in place of that of the cell.
void lstm_step_backward(const float* gates, const float* before, const float* cell, std::int64_t hidden,
                        const float* gradient, float* of_cell, float* of_gates);
void lstm_step_backward(const double* gates, const double* before, const double* cell, std::int64_t hidden,
                        const double* gradient, double* of_cell, double* of_gates);

/// What one query looks at: places that `shown` has, all if it is null.
template <typename T>
struct Look {
  std::int64_t places, attention, features;  // S, A, D
  const bool* shown;                         // [S]
  const T *query, *score;                    // W q, v [A]
  const T *keys, *values;                    // [S, A], [S, D]
  T* weights;                                // [S]
  T* context;                                // [D]
};

/// weights = softmax_j of v^T tanh(W q + k_j), context = sum_j weights_j values_j; zero where none is shown.
void look(const Look<float>& of);
void look(const Look<double>& of);

/// Of the gradients of the context [D] and of the weights [S] writes that of W q [A], and adds to those of
/// v [A], keys and values.
template <typename T>
struct LookGradients {
  const T *context, *weights;
  T *query, *score, *keys, *values;
};
void look_backward(const Look<float>& of, const LookGradients<float>& g);
void look_backward(const Look<double>& of, const LookGradients<double>& g);

}  // namespace sentencode::nn
