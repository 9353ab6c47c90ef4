// The hot loops of recurrent layers, on plain memory: what a step does to one sentence, forward and backward.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// A GRU's step, of the products a = W x + b_ih and b = W h [3 H] each, and of b_hh [3 H].
///   r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r b_n), h' = n + z (h - n); each b with its b_hh
/// h_after may be h. `gates` [4 H] are r, z, n and b_n for backward, or null.
void gru_step(const float* a, const float* b, const float* b_hh, const float* h, std::int64_t hidden,
              float* gates, float* h_after);
void gru_step(const double* a, const double* b, const double* b_hh, const double* h, std::int64_t hidden,
              double* gates, double* h_after);

/// Of the gradient g of h' the gradients of a, b [3 H] and h, this without the part that comes by b; of_h may
/// be g.
void gru_step_backward(const float* g, const float* gates, const float* h, std::int64_t hidden, float* of_a,
                       float* of_b, float* of_h);
void gru_step_backward(const double* g, const double* gates, const double* h, std::int64_t hidden,
                       double* of_a, double* of_b, double* of_h);

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
