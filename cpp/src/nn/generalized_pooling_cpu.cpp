#include <ATen/Parallel.h>

#include <algorithm>

#include "nn/generalized_pooling_kernels.h"
#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kColumns = 128;        // of a piece of work: its sums stay in the first cache
constexpr std::int64_t kNumbers = 16 * 1024;  // that a thread is worth
constexpr std::int64_t kLanes =
    16;  // of a sum: in one number it would be a chain that no vector can be made of

/// Columns `from` to `from + width` of sentence b, whose scores are of dimensions.
template <typename T>
ST_INLINE void pool_columns(const PoolingJob<T>& job, std::int64_t b, std::int64_t from, std::int64_t width) {
  const std::int64_t d = job.features, begin = job.offsets[b], end = job.offsets[b + 1];
  T* __restrict const pooled = job.pooled + b * job.stride + from;
  T* __restrict const most = job.most + b * job.norm_stride + from;
  T* __restrict const sum = job.sums + b * job.norm_stride + from;
  for (std::int64_t j = 0; j < width; ++j) most[j] = job.scores[begin * d + from + j];
  for (std::int64_t t = begin + 1; t < end; ++t) {
    const T* __restrict const s = job.scores + t * d + from;
    for (std::int64_t j = 0; j < width; ++j) most[j] = std::max(most[j], s[j]);
  }
  for (std::int64_t j = 0; j < width; ++j) sum[j] = pooled[j] = 0;
  for (std::int64_t t = begin; t < end; ++t) {
    const T* __restrict const s = job.scores + t * d + from, * __restrict const h = job.h + t * d + from;
    for (std::int64_t j = 0; j < width; ++j) {
      const T e = exponential(s[j] - most[j]);
      sum[j] += e;
      pooled[j] += e * h[j];
    }
  }
  for (std::int64_t j = 0; j < width; ++j) pooled[j] /= sum[j];
}

template <typename T>
ST_INLINE void pool_columns_backward(const PoolingJob<T>& job, std::int64_t b, std::int64_t from,
                                     std::int64_t width) {
  const std::int64_t d = job.features;
  const T* __restrict const v = job.pooled + b * job.stride + from;
  const T* __restrict const most = job.most + b * job.norm_stride + from;
  const T* __restrict const sum = job.sums + b * job.norm_stride + from;
  T g[kColumns];
  for (std::int64_t j = 0; j < width; ++j) g[j] = job.gradient[b * job.stride + from + j] / sum[j];
  for (std::int64_t t = job.offsets[b]; t < job.offsets[b + 1]; ++t) {
    const T* __restrict const h = job.h + t * d + from;
    T* __restrict const s = job.scores + t * d + from;
    T* __restrict const of_h = job.of_h + t * d + from;
    for (std::int64_t j = 0; j < width; ++j) {
      const T weighted = exponential(s[j] - most[j]) * g[j];
      of_h[j] = (job.first ? 0 : of_h[j]) + weighted;
      s[j] = weighted * (h[j] - v[j]);
    }
  }
}

/// All of sentence b, each of whose words has a score for each head.
template <typename T>
ST_INLINE void pool_sentence(const PoolingJob<T>& job, std::int64_t b) {
  const std::int64_t d = job.features, heads = job.heads, begin = job.offsets[b], end = job.offsets[b + 1];
  for (std::int64_t i = 0; i < heads; ++i) {
    T most = job.scores[begin * heads + i], sum = 0;
    for (std::int64_t t = begin + 1; t < end; ++t) most = std::max(most, job.scores[t * heads + i]);
    for (std::int64_t t = begin; t < end; ++t) sum += exponential(job.scores[t * heads + i] - most);
    T* __restrict const pooled = job.pooled + b * job.stride + i * d;
    std::fill_n(pooled, d, T(0));
    for (std::int64_t t = begin; t < end; ++t) {
      const T weight = exponential(job.scores[t * heads + i] - most) / sum;
      const T* __restrict const h = job.h + t * d;
      for (std::int64_t j = 0; j < d; ++j) pooled[j] += weight * h[j];
    }
    job.most[b * job.norm_stride + i] = most;
    job.sums[b * job.norm_stride + i] = sum;
  }
}

template <typename T>
ST_INLINE void pool_sentence_backward(const PoolingJob<T>& job, std::int64_t b) {
  const std::int64_t d = job.features, heads = job.heads;
  for (std::int64_t t = job.offsets[b]; t < job.offsets[b + 1]; ++t) {
    const T* __restrict const h = job.h + t * d;
    T* __restrict const of_h = job.of_h + t * d;
    if (job.first) std::fill_n(of_h, d, T(0));
    for (std::int64_t i = 0; i < heads; ++i) {
      const T* __restrict const v = job.pooled + b * job.stride + i * d;
      const T* __restrict const g = job.gradient + b * job.stride + i * d;
      T& score = job.scores[t * heads + i];
      const std::int64_t norm = b * job.norm_stride + i;
      const T weight = exponential(score - job.most[norm]) / job.sums[norm];
      T sums[kLanes] = {};
      std::int64_t j = 0;
      for (; j + kLanes <= d; j += kLanes) {
        for (std::int64_t k = 0; k < kLanes; ++k) {
          of_h[j + k] += weight * g[j + k];
          sums[k] += g[j + k] * (h[j + k] - v[j + k]);
        }
      }
      for (; j < d; ++j) {
        of_h[j] += weight * g[j];
        sums[0] += g[j] * (h[j] - v[j]);
      }
      T sum = 0;
      for (const T part : sums) sum += part;
      score = weight * sum;
    }
  }
}

template <typename T>
ST_INLINE void score_rows(const HiddenJob<T>& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict const z = job.z + row * job.width;
    for (std::int64_t i = 0; i < job.heads; ++i) {
      const T* __restrict const w = job.w + i * job.width;
      T sums[kLanes] = {};
      std::int64_t j = 0;
      for (; j + kLanes <= job.width; j += kLanes) {
        for (std::int64_t k = 0; k < kLanes; ++k) sums[k] += z[j + k] * w[j + k];
      }
      for (; j < job.width; ++j) sums[0] += z[j] * w[j];
      T sum = 0;
      for (const T part : sums) sum += part;
      job.scores[row * job.heads + i] = sum;
    }
  }
}

/// Columns `from` to `to`.
template <typename T>
ST_INLINE void hidden_columns_backward(const HiddenJob<T>& job, std::int64_t from, std::int64_t to) {
  T* __restrict const of_bias = job.of_bias;
  for (std::int64_t row = 0; row < job.rows; ++row) {
    const T* __restrict const z = job.z + row * job.width;
    T* __restrict const g = job.gradient + row * job.width;
    for (std::int64_t i = 0; job.w != nullptr && i < job.heads; ++i) {
      const T* __restrict const w = job.w + i * job.width;
      T* __restrict const of_w = job.of_w + i * job.width;
      const T of_score = job.scores[row * job.heads + i];
      for (std::int64_t j = from; j < to; ++j) {
        g[j] = (i == 0 ? 0 : g[j]) + of_score * w[j];
        of_w[j] += of_score * z[j];
      }
    }
    if (job.relu) {
      for (std::int64_t j = from; j < to; ++j) {
        g[j] = z[j] > 0 ? g[j] : 0;
        of_bias[j] += g[j];
      }
    } else {
      for (std::int64_t j = from; j < to; ++j) {
        g[j] *= 1 - z[j] * z[j];
        of_bias[j] += g[j];
      }
    }
  }
}

// Functions with versions cannot be templates.
#define ST_POOLING_OF(T)                                                                                 \
  ST_VERSIONS void forward_columns(const PoolingJob<T>& job, std::int64_t b, std::int64_t from,          \
                                   std::int64_t width) {                                                 \
    pool_columns(job, b, from, width);                                                                   \
  }                                                                                                      \
  ST_VERSIONS void backward_columns(const PoolingJob<T>& job, std::int64_t b, std::int64_t from,         \
                                    std::int64_t width) {                                                \
    pool_columns_backward(job, b, from, width);                                                          \
  }                                                                                                      \
  ST_VERSIONS void forward_sentence(const PoolingJob<T>& job, std::int64_t b) { pool_sentence(job, b); } \
  ST_VERSIONS void backward_sentence(const PoolingJob<T>& job, std::int64_t b) {                         \
    pool_sentence_backward(job, b);                                                                      \
  }                                                                                                      \
  ST_VERSIONS void score(const HiddenJob<T>& job, std::int64_t begin, std::int64_t end) {                \
    score_rows(job, begin, end);                                                                         \
  }                                                                                                      \
  ST_VERSIONS void backward_hidden(const HiddenJob<T>& job, std::int64_t from, std::int64_t to) {        \
    hidden_columns_backward(job, from, to);                                                              \
  }
ST_POOLING_OF(float)
ST_POOLING_OF(double)
#undef ST_POOLING_OF

/// Pieces of sentences, or whole ones, on all threads. What a piece computes is its own.
template <typename T, typename Columns, typename Sentence>
void in_pieces(const PoolingJob<T>& job, const Columns& columns, const Sentence& sentence) {
  const std::int64_t pieces = job.scalar ? 1 : (job.features + kColumns - 1) / kColumns;
  const std::int64_t items = job.sentences * pieces;
  if (items == 0) return;
  const std::int64_t numbers = job.offsets[job.sentences] * job.features * job.heads;
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbers * items / std::max<std::int64_t>(1, numbers));
  at::parallel_for(0, items, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t b = item / pieces, from = item % pieces * kColumns;
      if (job.offsets[b] == job.offsets[b + 1]) continue;
      if (job.scalar) {
        sentence(job, b);
      } else {
        columns(job, b, from, std::min(kColumns, job.features - from));
      }
    }
  });
}

}  // namespace

template <typename T>
void pool_on_cpu(const PoolingJob<T>& job) {
  in_pieces(
      job, [](auto... of) { forward_columns(of...); }, [](auto... of) { forward_sentence(of...); });
}

template <typename T>
void pool_backward_on_cpu(const PoolingJob<T>& job) {
  const std::int64_t scores = job.scalar ? job.heads : job.features;  // of a row
  std::fill(job.scores + job.offsets[job.sentences] * scores, job.scores + job.rows * scores, T(0));
  in_pieces(
      job, [](auto... of) { backward_columns(of...); }, [](auto... of) { backward_sentence(of...); });
}

template <typename T>
void score_on_cpu(const HiddenJob<T>& job) {
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbers / (job.width * job.heads));
  at::parallel_for(0, job.rows, grain, [&](auto begin, auto end) { score(job, begin, end); });
}

template <typename T>
void hidden_backward_on_cpu(const HiddenJob<T>& job) {
  const std::int64_t pieces = (job.width + kColumns - 1) / kColumns;
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbers / (job.rows * kColumns));
  at::parallel_for(0, pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      backward_hidden(job, piece * kColumns, std::min(job.width, (piece + 1) * kColumns));
    }
  });
}

template void pool_on_cpu(const PoolingJob<float>& job);
template void pool_on_cpu(const PoolingJob<double>& job);
template void pool_backward_on_cpu(const PoolingJob<float>& job);
template void pool_backward_on_cpu(const PoolingJob<double>& job);
template void score_on_cpu(const HiddenJob<float>& job);
template void score_on_cpu(const HiddenJob<double>& job);
template void hidden_backward_on_cpu(const HiddenJob<float>& job);
template void hidden_backward_on_cpu(const HiddenJob<double>& job);

}  // namespace sentencode::nn
