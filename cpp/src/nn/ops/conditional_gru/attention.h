// Additive attention of one query, on plain memory.
#pragma once

#include <cstdint>

namespace sentencode::nn {

template <typename T>
struct AttentionQuery {
  std::int64_t positions, attention, features;  // S, A, D
  const bool* mask;                             // [S], or null for all
  const T *query, *score;                       // W q, v [A]
  const T *keys, *values;                       // [S, A], [S, D]
  T* weights;                                   // [S]
  T* context;                                   // [D]
};

/// weights = softmax_j v^T tanh(W q + k_j), context = sum_j weights_j values_j; zero if all are masked.
void attend(const AttentionQuery<float>& x);
void attend(const AttentionQuery<double>& x);

/// `context` [D] and `weights` [S] are read, `query` [A] is written; `score` [A], `keys` and `values` are
/// added to.
template <typename T>
struct AttentionGradients {
  const T *context, *weights;
  T *query, *score, *keys, *values;
};
void attend_backward(const AttentionQuery<float>& x, const AttentionGradients<float>& grads);
void attend_backward(const AttentionQuery<double>& x, const AttentionGradients<double>& grads);

}  // namespace sentencode::nn
