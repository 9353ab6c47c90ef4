#include <ATen/Parallel.h>

#include <algorithm>

#include "nn/generalized_pooling_kernels.h"
#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kColumns = 128;        // of a piece of work: its sums stay in the first cache
constexpr std::int64_t kUnits = 32;           // of the hidden layer, of which a piece of work has fewer
constexpr std::int64_t kNumbers = 16 * 1024;  // that a thread is worth

/// Where row t begins, in h and of_h.
template <typename T>
ST_INLINE std::int64_t at(const PoolingJob<T>& job, std::int64_t t) {
  return (job.places == nullptr ? t : job.places[t]) * job.features;
}

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
    const T* __restrict const s = job.scores + t * d + from, * __restrict const h = job.h + at(job, t) + from;
    for (std::int64_t j = 0; j < width; ++j) {
      const T e = exponential(s[j] - most[j]);
      sum[j] += e;
      pooled[j] += e * h[j];
    }
  }
  for (std::int64_t j = 0; j < width; ++j) pooled[j] /= sum[j];
}

/// The first head writes of_h, others add to it. A template, for compilers make no vectors of a loop in which
/// it is asked.
template <bool First, typename T>
ST_INLINE void pool_columns_backward(const PoolingJob<T>& job, std::int64_t b, std::int64_t from,
                                     std::int64_t width) {
  const std::int64_t d = job.features;
  const T* __restrict const v = job.pooled + b * job.stride + from;
  const T* __restrict const most = job.most + b * job.norm_stride + from;
  const T* __restrict const sum = job.sums + b * job.norm_stride + from;
  T g[kColumns];
  for (std::int64_t j = 0; j < width; ++j) g[j] = job.gradient[b * job.stride + from + j] / sum[j];
  for (std::int64_t t = job.offsets[b]; t < job.offsets[b + 1]; ++t) {
    const T* __restrict const h = job.h + at(job, t) + from;
    const T* __restrict const s = job.scores + t * d + from;
    T* __restrict const of_s = job.of_scores + t * d + from;
    T* __restrict const of_h = job.of_h + at(job, t) + from;
    for (std::int64_t j = 0; j < width; ++j) {
      const T weighted = exponential(s[j] - most[j]) * g[j];
      of_h[j] = First ? weighted : of_h[j] + weighted;
      of_s[j] = weighted * (h[j] - v[j]);
    }
  }
}

/// Of sentence b and H heads from `head` on: pooled_i [d] = sum over words of weight_i * h.
template <int H, typename T>
ST_INLINE void weigh(const PoolingJob<T>& job, std::int64_t b, std::int64_t head) {
  const std::int64_t d = job.features, begin = job.offsets[b], end = job.offsets[b + 1];
  const T* const weights = job.of_scores + head;
  T* const out = job.pooled + b * job.stride + head * d;
  std::int64_t j = 0;
  for (; j + kWide<T> <= d; j += kWide<T>) {
    Wide<T> sums[H] = {}, x;
    for (std::int64_t t = begin; t < end; ++t) {
      load(x, job.h + at(job, t) + j);
      ST_UNROLL
      for (int i = 0; i < H; ++i) sums[i] += weights[t * job.heads + i] * x;
    }
    ST_UNROLL
    for (int i = 0; i < H; ++i) store(out + i * d + j, sums[i]);
  }
  for (; j < d; ++j) {
    ST_UNROLL
    for (int i = 0; i < H; ++i) {
      T sum = 0;
      for (std::int64_t t = begin; t < end; ++t) sum += weights[t * job.heads + i] * job.h[at(job, t) + j];
      out[i * d + j] = sum;
    }
  }
}

/// scores = exp(scores - most), for each of some words those of all heads.
template <typename T>
ST_INLINE void exponentials(std::int64_t words, std::int64_t heads, const T* most, T* scores) {
  for (std::int64_t t = 0; t < words; ++t) {
    for (std::int64_t i = 0; i < heads; ++i) scores[t * heads + i] -= most[i];
  }
  for (std::int64_t k = 0; k < words * heads; ++k) scores[k] = exponential(scores[k]);
}

template <typename T>
ST_INLINE void divide(std::int64_t words, std::int64_t heads, const T* sums, T* scores) {
  for (std::int64_t t = 0; t < words; ++t) {
    for (std::int64_t i = 0; i < heads; ++i) scores[t * heads + i] /= sums[i];
  }
}

/// All of sentence b, each of whose words has a score for each head.
template <typename T>
ST_INLINE void pool_sentence(const PoolingJob<T>& job, std::int64_t b) {
  const std::int64_t heads = job.heads, words = job.offsets[b + 1] - job.offsets[b];
  const T* const s = job.scores + job.offsets[b] * heads;
  T* const weights = job.of_scores + job.offsets[b] * heads;
  T* const most = job.most + b * job.norm_stride;
  T* const sums = job.sums + b * job.norm_stride;
  std::copy_n(s, heads, most);
  for (std::int64_t t = 1; t < words; ++t) {
    for (std::int64_t i = 0; i < heads; ++i) most[i] = std::max(most[i], s[t * heads + i]);
  }
  std::copy_n(s, words * heads, weights);
  exponentials(words, heads, most, weights);
  std::fill_n(sums, heads, T(0));
  for (std::int64_t t = 0; t < words; ++t) {
    for (std::int64_t i = 0; i < heads; ++i) sums[i] += weights[t * heads + i];
  }
  divide(words, heads, sums, weights);
  some_at_once(
      heads, [&](std::int64_t i, auto some)
                 __attribute__((always_inline)) { weigh<decltype(some)::value>(job, b, i); });
}

/// Of W words of sentence b from t on and H heads: of_h += sum_i weight_i * g_i, or that itself if they are
/// the first; then weight_i = weight_i * g_i . (h - v_i).
template <int H, int W, typename T>
ST_INLINE void unweigh(const PoolingJob<T>& job, std::int64_t b, std::int64_t begin, std::int64_t head) {
  const std::int64_t d = job.features, heads = job.heads;
  const T* const g = job.gradient + b * job.stride + head * d;
  const T* const v = job.pooled + b * job.stride + head * d;
  T* const weights = job.of_scores + begin * heads + head;
  const bool first = job.first && head == 0;
  const T* h[W];
  T* of_h[W];
  ST_UNROLL
  for (int t = 0; t < W; ++t) {
    h[t] = job.h + at(job, begin + t);
    of_h[t] = job.of_h + at(job, begin + t);
  }
  Wide<T> sums[W][H] = {};
  T rest[W][H] = {};
  std::int64_t j = 0;
  for (; j + kWide<T> <= d; j += kWide<T>) {
    Wide<T> of[W] = {}, x[W], y, pooled;
    ST_UNROLL
    for (int t = 0; t < W; ++t) {
      load(x[t], h[t] + j);
      if (!first) load(of[t], of_h[t] + j);
    }
    ST_UNROLL
    for (int i = 0; i < H; ++i) {
      load(y, g + i * d + j);
      load(pooled, v + i * d + j);
      ST_UNROLL
      for (int t = 0; t < W; ++t) {
        of[t] += weights[t * heads + i] * y;
        sums[t][i] += y * (x[t] - pooled);
      }
    }
    ST_UNROLL
    for (int t = 0; t < W; ++t) store(of_h[t] + j, of[t]);
  }
  for (; j < d; ++j) {
    ST_UNROLL
    for (int t = 0; t < W; ++t) {
      T of = first ? 0 : of_h[t][j];
      ST_UNROLL
      for (int i = 0; i < H; ++i) {
        of += weights[t * heads + i] * g[i * d + j];
        rest[t][i] += g[i * d + j] * (h[t][j] - v[i * d + j]);
      }
      of_h[t][j] = of;
    }
  }
  ST_UNROLL
  for (int t = 0; t < W; ++t) {
    ST_UNROLL
    for (int i = 0; i < H; ++i) weights[t * heads + i] *= total<T>(sums[t][i]) + rest[t][i];
  }
}

template <typename T>
ST_INLINE void pool_sentence_backward(const PoolingJob<T>& job, std::int64_t b) {
  const std::int64_t heads = job.heads, begin = job.offsets[b], end = job.offsets[b + 1], words = end - begin;
  T* const s = job.of_scores + begin * heads;  // then weights, then the scores' gradients
  std::copy_n(job.scores + begin * heads, words * heads, s);
  exponentials(words, heads, job.most + b * job.norm_stride, s);
  divide(words, heads, job.sums + b * job.norm_stride, s);
  some_at_once(
      heads, [&](std::int64_t i, auto some) __attribute__((always_inline)) {
        constexpr int H = decltype(some)::value;
        std::int64_t t = begin;
        for (; t + 2 <= end; t += 2) unweigh<H, 2>(job, b, t, i);
        if (t < end) unweigh<H, 1>(job, b, t, i);
      });
}

/// From the gradient g of z to that of what z is f of, numbers or vectors.
template <typename Number>
ST_INLINE void through(bool relu, const Number& z, Number& g) {
  if (relu) {
    g = z <= 0 ? Number{} : g;  // what is no number stays none
  } else {
    g *= 1 - z * z;
  }
}

/// Of H heads, columns `from` to `to`: of_w_i += sum over rows of s_i z, and g += sum_i s_i w_i, or that
/// itself if they are the first; if they are the last, g goes through f as well.
template <int H, typename T>
ST_INLINE void unscore(const HiddenJob<T>& job, std::int64_t head, std::int64_t from, std::int64_t to) {
  const std::int64_t width = job.width, heads = job.heads;
  const bool first = head == 0, last = head + H == heads;
  const T* const w = job.w + head * width;
  T* const of_w = job.of_w + head * width;
  std::int64_t j = from;
  for (; j + kWide<T> <= to; j += kWide<T>) {
    Wide<T> weights[H], sums[H], of_bias, g, z;
    load(of_bias, job.of_bias + j);
    ST_UNROLL
    for (int i = 0; i < H; ++i) {
      load(weights[i], w + i * width + j);
      load(sums[i], of_w + i * width + j);
    }
    for (std::int64_t row = 0; row < job.rows; ++row) {
      load(z, job.z + row * width + j);
      g = Wide<T>{};
      if (!first) load(g, job.gradient + row * width + j);
      ST_UNROLL
      for (int i = 0; i < H; ++i) {
        const T s = job.of_scores[row * heads + head + i];
        g += s * weights[i];
        sums[i] += s * z;
      }
      if (last) {
        through(job.relu, z, g);
        of_bias += g;
      }
      store(job.gradient + row * width + j, g);
    }
    if (last) store(job.of_bias + j, of_bias);
    ST_UNROLL
    for (int i = 0; i < H; ++i) store(of_w + i * width + j, sums[i]);
  }
  for (; j < to; ++j) {
    for (std::int64_t row = 0; row < job.rows; ++row) {
      const T z = job.z[row * width + j];
      T& g = job.gradient[row * width + j];
      if (first) g = 0;
      ST_UNROLL
      for (int i = 0; i < H; ++i) {
        const T s = job.of_scores[row * heads + head + i];
        g += s * w[i * width + j];
        of_w[i * width + j] += s * z;
      }
      if (!last) continue;
      through(job.relu, z, g);
      job.of_bias[j] += g;
    }
  }
}

/// Columns `from` to `to`.
template <typename T>
ST_INLINE void hidden_columns_backward(const HiddenJob<T>& job, std::int64_t from, std::int64_t to) {
  if (job.w != nullptr) {
    some_at_once(
        job.heads, [&](std::int64_t head, auto some) __attribute__((always_inline)) {
          unscore<decltype(some)::value>(job, head, from, to);
        });
    return;
  }
  T* __restrict const of_bias = job.of_bias;
  for (std::int64_t row = 0; row < job.rows; ++row) {
    const T* __restrict const z = job.z + row * job.width;
    T* __restrict const g = job.gradient + row * job.width;
    if (job.relu) {
      for (std::int64_t j = from; j < to; ++j) {
        through(true, z[j], g[j]);
        of_bias[j] += g[j];
      }
    } else {
      for (std::int64_t j = from; j < to; ++j) {
        through(false, z[j], g[j]);
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
    job.first ? pool_columns_backward<true>(job, b, from, width)                                         \
              : pool_columns_backward<false>(job, b, from, width);                                       \
  }                                                                                                      \
  ST_VERSIONS void forward_sentence(const PoolingJob<T>& job, std::int64_t b) { pool_sentence(job, b); } \
  ST_VERSIONS void backward_sentence(const PoolingJob<T>& job, std::int64_t b) {                         \
    pool_sentence_backward(job, b);                                                                      \
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
  std::fill(job.of_scores + job.offsets[job.sentences] * scores, job.of_scores + job.rows * scores, T(0));
  in_pieces(
      job, [](auto... of) { backward_columns(of...); }, [](auto... of) { backward_sentence(of...); });
}

template <typename T>
void hidden_backward_on_cpu(const HiddenJob<T>& job) {
  const std::int64_t pieces = (job.width + kUnits - 1) / kUnits;
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbers / (job.rows * kUnits));
  at::parallel_for(0, pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      backward_hidden(job, piece * kUnits, std::min(job.width, (piece + 1) * kUnits));
    }
  });
}

template void pool_on_cpu(const PoolingJob<float>& job);
template void pool_on_cpu(const PoolingJob<double>& job);
template void pool_backward_on_cpu(const PoolingJob<float>& job);
template void pool_backward_on_cpu(const PoolingJob<double>& job);
template void hidden_backward_on_cpu(const HiddenJob<float>& job);
template void hidden_backward_on_cpu(const HiddenJob<double>& job);

}  // namespace sentencode::nn
