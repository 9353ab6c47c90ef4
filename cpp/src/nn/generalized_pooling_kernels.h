// The hot loops of generalized pooling, on plain memory: softmax of scores over the words of each sentence,
// and the sum of the words' vectors with these weights.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// Some sentences, their vectors, and the scores of one head, or (scalar) of all. All is row-major; sentence
/// b has the rows from offsets[b] to offsets[b + 1].
template <typename T>
struct PoolingJob {
  std::int64_t sentences, rows, features;  // B, R, d
  std::int64_t heads;                      // of scalar scores; 1 if every dimension has its own
  bool scalar;
  const std::int64_t* offsets;  // [B + 1]
  const T* h;                   // [R, d]
  T* scores;                    // [R, d], scalar [R, heads]
  T *most, *sums;               // [B, d], scalar [B, heads], of rows that are `norm_stride` apart
  T* pooled;                    // [B, heads, d] of rows that are `stride` apart
  std::int64_t norm_stride, stride;
  const T* gradient = nullptr;  // as pooled
  T* of_h = nullptr;            // [R, d]
};

/// pooled = sum_t A_t * h_t, where A_t = exp(score_t - most) / sum, most = max_t score_t, sum = sum_t
/// exp(score_t - most). Of a sentence without words nothing is written.
///
/// Backward reads all that, writes the scores' gradients A_t * g * (h_t - pooled) in their place, and adds
/// A_t * g to of_h; rows of no sentence get zero.
template <typename T>
void pool_on_cpu(const PoolingJob<T>& job);
template <typename T>
void pool_backward_on_cpu(const PoolingJob<T>& job);

/// From the gradient of z = f(x) [rows, width], f being a ReLU or tanh, to that of x, in place; its sum over
/// rows is added to `sums` [width].
template <typename T>
void activation_backward_on_cpu(bool relu, std::int64_t rows, std::int64_t width, const T* z, T* gradient,
                                T* sums);

#ifdef SENTENCODE_HAVE_CUDA
/// The same on a GPU, where all the memory is. Untested: nobody has run it yet. `stream` is a cudaStream_t.
/// The number of what went wrong, 0 for nothing.
template <typename T>
int pool_on_gpu(const PoolingJob<T>& job, void* stream);
template <typename T>
int pool_backward_on_gpu(const PoolingJob<T>& job, void* stream);
#endif

}  // namespace sentencode::nn
