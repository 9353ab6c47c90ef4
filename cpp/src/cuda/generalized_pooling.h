// Attention pooling by vector scores on a GPU, on plain memory and a stream. Callers need no headers of torch
// or CUDA.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// B sentences of at most T words, padded, and I heads. All arrays are row-major without gaps.
template <typename T>
struct VectorPooling {
  std::int64_t sentences, time, features, heads;  // B, T, d, I
  const std::int64_t* lengths;                    // [B], clamped to [0, T]
  const T* scores;                                // [I, B, T, d]; padding is never read
  const T* h;                                     // [B, T, d]; padding is never read
  T *pooled, *most, *sums;                        // [B, I, d]
  const T* gradient = nullptr;                    // [B, I, d]
  T* grad_scores = nullptr;                       // as scores
  T* grad_h = nullptr;                            // as h
};

/// pooled = sum_t A_t * h_t with A_t = exp(score_t - most) / sums, most = max_t score_t,
/// sums = sum_t exp(score_t - most). Zero for a sentence without words.
///
/// All pointers are device memory, `stream` is a cudaStream_t. Returns a cudaError_t, 0 for success.
template <typename T>
int pool_vectors(const VectorPooling<T>& job, void* stream);

/// From pooled, most, sums and gradient: grad_scores = A_t * gradient * (h_t - pooled) and
/// grad_h = sum over heads of A_t * gradient; both are zero at padding.
template <typename T>
int pool_vectors_backward(const VectorPooling<T>& job, void* stream);

}  // namespace sentencode::nn
