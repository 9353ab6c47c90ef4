// The kernels of nn/generalized_pooling_kernels.h on a GPU. Untested: they compile, and nobody has run them yet.
#include <cuda_runtime.h>

#include "nn/generalized_pooling_kernels.h"

namespace sentencode::nn {
namespace {

constexpr int kThreads = 128;
constexpr int kWarp = 32;

/// Rows of sentence b, whatever the offsets say; b = B are the rows of no sentence.
template <typename T>
struct Span {
  std::int64_t begin, end;
  __device__ Span(const PoolingJob<T>& job, std::int64_t b)
      : begin(clamp(job, job.offsets[b])), end(b < job.sentences ? clamp(job, job.offsets[b + 1]) : job.rows) {}
  static __device__ std::int64_t clamp(const PoolingJob<T>& job, std::int64_t row) {
    return row < 0 ? 0 : row < job.rows ? row : job.rows;
  }
};

/// A thread does one column of one head of one sentence, in one pass over the words: where a larger score
/// comes, what was summed is scaled down. Neighbours read neighbouring memory.
template <typename T>
__global__ void forward(PoolingJob<T> job) {
  const std::int64_t b = blockIdx.x, head = blockIdx.z, d = job.features;
  const std::int64_t j = std::int64_t{blockIdx.y} * kThreads + threadIdx.x;
  const Span<T> words(job, b);
  if (j >= d || words.begin >= words.end) return;
  const std::int64_t scores = job.scalar ? job.heads : d, column = job.scalar ? head : j;
  T most = job.scores[words.begin * scores + column], sum = 0, weighted = 0;
  for (std::int64_t t = words.begin; t < words.end; ++t) {
    const T s = job.scores[t * scores + column], h = job.h[t * d + j];
    if (s > most) {
      const T less = exp(most - s);
      sum *= less;
      weighted *= less;
      most = s;
    }
    const T e = exp(s - most);
    sum += e;
    weighted += e * h;
  }
  job.pooled[b * job.stride + head * d + j] = weighted / sum;
  if (job.scalar && j > 0) return;
  job.most[b * job.norm_stride + column] = most;
  job.sums[b * job.norm_stride + column] = sum;
}

/// Vector scores: a thread does one column of one sentence.
template <typename T>
__global__ void backward_columns(PoolingJob<T> job) {
  const std::int64_t b = blockIdx.x, d = job.features;
  const std::int64_t j = std::int64_t{blockIdx.y} * kThreads + threadIdx.x;
  if (j >= d) return;
  const Span<T> words(job, b);
  if (b == job.sentences) {
    for (std::int64_t t = words.begin; t < words.end; ++t) job.of_scores[t * d + j] = 0;
    return;
  }
  if (words.begin >= words.end) return;
  const T most = job.most[b * job.norm_stride + j], v = job.pooled[b * job.stride + j];
  const T g = job.gradient[b * job.stride + j] / job.sums[b * job.norm_stride + j];
  for (std::int64_t t = words.begin; t < words.end; ++t) {
    const T weighted = exp(job.scores[t * d + j] - most) * g;
    job.of_h[t * d + j] = (job.first ? T(0) : job.of_h[t * d + j]) + weighted;
    job.of_scores[t * d + j] = weighted * (job.h[t * d + j] - v);
  }
}

/// Scalar scores: a warp does one word after another, all heads of it.
template <typename T>
__global__ void backward_words(PoolingJob<T> job) {
  const std::int64_t b = blockIdx.x, d = job.features, heads = job.heads;
  const Span<T> words(job, b);
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t t = words.begin + threadIdx.x / kWarp; t < words.end; t += kThreads / kWarp) {
    for (std::int64_t i = 0; i < heads; ++i) {
      T* const of_score = job.of_scores + t * heads + i;
      if (b == job.sentences) {
        if (lane == 0) *of_score = 0;
        continue;
      }
      const std::int64_t norm = b * job.norm_stride + i, head = b * job.stride + i * d;
      const T weight = exp(job.scores[t * heads + i] - job.most[norm]) / job.sums[norm];
      T sum = 0;
      for (std::int64_t j = lane; j < d; j += kWarp) {
        const T g = job.gradient[head + j];
        job.of_h[t * d + j] = (job.first && i == 0 ? T(0) : job.of_h[t * d + j]) + weight * g;
        sum += g * (job.h[t * d + j] - job.pooled[head + j]);
      }
      for (int other = kWarp / 2; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffff, sum, other);
      if (lane == 0) *of_score = weight * sum;  // all lanes have read it: they met in the sum
    }
  }
}

unsigned int pieces_of(std::int64_t columns) { return static_cast<unsigned int>((columns + kThreads - 1) / kThreads); }

}  // namespace

template <typename T>
int pool_on_gpu(const PoolingJob<T>& job, void* stream) {
  if (job.sentences == 0) return 0;
  const dim3 grid(static_cast<unsigned int>(job.sentences), pieces_of(job.features),
                  static_cast<unsigned int>(job.heads));
  forward<<<grid, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(job);
  return static_cast<int>(cudaGetLastError());
}

template <typename T>
int pool_backward_on_gpu(const PoolingJob<T>& job, void* stream) {
  const dim3 grid(static_cast<unsigned int>(job.sentences + 1), job.scalar ? 1 : pieces_of(job.features));
  const auto on = static_cast<cudaStream_t>(stream);
  if (job.scalar) {
    backward_words<<<grid, kThreads, 0, on>>>(job);
  } else {
    backward_columns<<<grid, kThreads, 0, on>>>(job);
  }
  return static_cast<int>(cudaGetLastError());
}

template int pool_on_gpu(const PoolingJob<float>& job, void* stream);
template int pool_on_gpu(const PoolingJob<double>& job, void* stream);
template int pool_backward_on_gpu(const PoolingJob<float>& job, void* stream);
template int pool_backward_on_gpu(const PoolingJob<double>& job, void* stream);

}  // namespace sentencode::nn
