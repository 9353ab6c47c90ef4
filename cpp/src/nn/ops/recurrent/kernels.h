// Steps of recurrent cells for one sentence, on plain memory.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// A GRU: gates r = s(a_r + u_r), z = s(a_z + u_z), n = tanh(a_n + r q) with q = u_n + b_n; then
/// h = n + z (h - n). a = W x + b and u = U h, [3 H] each; b_n [H] is the bias of U that r multiplies. Writes
/// `gates` (r, z, n, q) [4 H], h, and its copy `output`.
void gru_step(const float* a, const float* u, const float* b_n, std::int64_t hidden, float* gates, float* h,
              float* output);
void gru_step(const double* a, const double* u, const double* b_n, std::int64_t hidden, double* gates,
              double* h, double* output);

/// The gradients of a and u; grad_h is the gradient of the new h and becomes that of `h`, the previous state,
/// without the part that passes through u.
void gru_step_backward(const float* gates, const float* h, std::int64_t hidden, float* grad_h, float* grad_a,
                       float* grad_u);
void gru_step_backward(const double* gates, const double* h, std::int64_t hidden, double* grad_h,
                       double* grad_a, double* grad_u);

/// An LSTM: i, f, o = s(a + u), g = tanh(a + u); c = f c + i g, h = o tanh(c). `gates` [4 H] holds
/// a = W x + b and then the gates. Writes h and c, and their copies `output` and `cell`.
void lstm_step(const float* u, std::int64_t hidden, float* gates, float* h, float* c, float* output,
               float* cell);
void lstm_step(const double* u, std::int64_t hidden, double* gates, double* h, double* c, double* output,
               double* cell);

/// The gradient of a, which is that of u as well; grad_c is the gradient of the cell and becomes that of
/// `previous`, the cell before.
void lstm_step_backward(const float* gates, const float* previous, const float* cell, std::int64_t hidden,
                        const float* grad_h, float* grad_c, float* grad_a);
void lstm_step_backward(const double* gates, const double* previous, const double* cell, std::int64_t hidden,
                        const double* grad_h, double* grad_c, double* grad_a);

}  // namespace sentencode::nn
