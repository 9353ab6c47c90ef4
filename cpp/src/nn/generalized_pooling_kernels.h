// The hot loops of generalized pooling on the CPU, on plain memory: softmax of scores over the words of each
// sentence, and the sum of the words' vectors with these weights.
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
  const std::int64_t* places;   // [R] of h's rows, and of_h's: row t is the one at places[t]
  const T* h;                   // [R, d], or more if there are places
  const T* scores;              // [R, d], scalar [R, heads]; only read
  T *most, *sums;               // [B, d], scalar [B, heads], of rows that are `norm_stride` apart
  T* pooled;                    // [B, heads, d] of rows that are `stride` apart
  std::int64_t norm_stride, stride;
  const T* gradient = nullptr;  // as pooled
  T* of_scores = nullptr;       // as scores; forward has room there for the weights of scalar ones
  T* of_h = nullptr;            // as h
  bool first = true;            // of those that write of_h: others add to it
};

/// pooled = sum_t A_t * h_t, where A_t = exp(score_t - most) / sum, most = max_t score_t, sum = sum_t
/// exp(score_t - most). Of a sentence without words nothing is written.
///
/// Backward reads all that, and scores as they were; it writes their gradients A_t * g * (h_t - pooled), zero
/// for rows of no sentence, and A_t * g into of_h, which it leaves alone there.
template <typename T>
void pool_on_cpu(const PoolingJob<T>& job);
template <typename T>
void pool_backward_on_cpu(const PoolingJob<T>& job);

/// The hidden layer z = f(x), f being a ReLU or tanh, of which scalar scores are z W^T.
template <typename T>
struct HiddenJob {
  bool relu;
  std::int64_t rows, width, heads;  // R, d_a of all groups, I
  const T* z;                       // [R, width]
  T* gradient;                      // [R, width]: of z, and in its place of x; with scalar scores, of x alone
  T* of_bias;                       // [width]: its sum over rows is added
  const T* w = nullptr;             // [I, width]; none if scores are of dimensions
  const T* of_scores = nullptr;     // [R, I]
  T* of_w = nullptr;                // [I, width]: what these rows bring is added
};

template <typename T>
void hidden_backward_on_cpu(const HiddenJob<T>& job);

}  // namespace sentencode::nn
