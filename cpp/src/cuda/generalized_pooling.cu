// Attention pooling by vector scores: the kernels, a plain reference, and a self-test that compares them.
//
//   nvcc -O3 -std=c++17 -arch=native -DSELF_TEST -o pooling generalized_pooling.cu && ./pooling
//
// Tests also compile this file as C++, with the emulated GPU of tests/cpp/cuda/emulation.h.
#include "generalized_pooling.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

#include <limits>

namespace sentencode::nn {
namespace {

// A block has 32 columns, adjacent dimensions, times 8 lanes: each lane has every eighth word.
constexpr int kColumns = 32;
constexpr int kLanes = 8;
constexpr std::int64_t kRun =
    64;                    // words of a lane that are summed separately, for the precision of long sums
constexpr int kWords = 4;  // words per thread of backward

/// The maximum of no scores. Finite: for two lanes without words, exp(0) * 0 is 0.
template <typename T>
constexpr T kLowest = std::numeric_limits<T>::lowest();

template <typename T>
__host__ __device__ std::int64_t length_of(const VectorPooling<T>& job, std::int64_t b) {
  const std::int64_t length = job.lengths[b];
  return length < 0 ? 0 : length < job.time ? length : job.time;
}

/// The reference: dimension j of head i of sentence b.
template <typename T>
__host__ __device__ void reference_forward(const VectorPooling<T>& job, std::int64_t b, std::int64_t i,
                                           std::int64_t j) {
  const std::int64_t d = job.features, length = length_of(job, b), out = (b * job.heads + i) * d + j;
  const T* const s = job.scores + (i * job.sentences + b) * job.time * d + j;
  const T* const h = job.h + b * job.time * d + j;
  T most = length > 0 ? s[0] : T(0), sum = 0, weighted = 0;
  for (std::int64_t t = 1; t < length; ++t) most = s[t * d] > most ? s[t * d] : most;
  for (std::int64_t t = 0; t < length; ++t) sum += exp(s[t * d] - most);
  for (std::int64_t t = 0; t < length; ++t) weighted += exp(s[t * d] - most) * h[t * d];
  job.pooled[out] = length > 0 ? weighted / sum : T(0);
  job.most[out] = most;
  job.sums[out] = length > 0 ? sum : T(1);
}

/// The reference: dimension j of word t of sentence b, all heads.
template <typename T>
__host__ __device__ void reference_backward(const VectorPooling<T>& job, std::int64_t b, std::int64_t t,
                                            std::int64_t j) {
  const std::int64_t d = job.features, row = (b * job.time + t) * d + j;
  const bool is_word = t < length_of(job, b);
  T grad_h = 0;
  for (std::int64_t i = 0; i < job.heads; ++i) {
    const std::int64_t at = i * job.sentences * job.time * d + row, out = (b * job.heads + i) * d + j;
    const T g = is_word ? exp(job.scores[at] - job.most[out]) / job.sums[out] * job.gradient[out] : T(0);
    job.grad_scores[at] = is_word ? g * (job.h[row] - job.pooled[out]) : T(0);
    grad_h += g;
  }
  job.grad_h[row] = grad_h;
}

/// Sums over some words: of exp(score - most), and of exp(score - most) h, where `most` is the largest score.
template <typename T>
struct Sums {
  T most, sum, weighted;

  __device__ void add(T score, T h) {
    if (score > most) {
      const T scale = exp(most - score);
      sum *= scale;
      weighted *= scale;
      most = score;
    }
    const T e = exp(score - most);
    sum += e;
    weighted += e * h;
  }
  __device__ void add(const Sums& other) {
    const T larger = other.most > most ? other.most : most;
    const T scale = exp(most - larger), others = exp(other.most - larger);
    sum = sum * scale + other.sum * others;
    weighted = weighted * scale + other.weighted * others;
    most = larger;
  }
};

/// One pass over the words; then the sums of the lanes are added in pairs.
template <typename T>
__global__ void forward(VectorPooling<T> job) {
  __shared__ T most[kLanes][kColumns], sum[kLanes][kColumns], weighted[kLanes][kColumns];
  const int column = threadIdx.x, lane = threadIdx.y;
  const std::int64_t b = blockIdx.x, i = blockIdx.z, d = job.features;
  const std::int64_t j = std::int64_t{blockIdx.y} * kColumns + column, length = length_of(job, b);
  Sums<T> lane_sums{kLowest<T>, 0, 0};
  if (j < d) {
    const T* const s = job.scores + (i * job.sentences + b) * job.time * d + j;
    const T* const h = job.h + b * job.time * d + j;
    for (std::int64_t first = lane; first < length; first += kRun * kLanes) {
      const std::int64_t end = first + kRun * kLanes < length ? first + kRun * kLanes : length;
      Sums<T> run{kLowest<T>, 0, 0};
#ifdef __CUDACC__
#pragma unroll 4
#endif
      for (std::int64_t t = first; t < end; t += kLanes) run.add(s[t * d], h[t * d]);
      lane_sums.add(run);
    }
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    if (lane >= half && lane < 2 * half) {
      most[lane][column] = lane_sums.most;
      sum[lane][column] = lane_sums.sum;
      weighted[lane][column] = lane_sums.weighted;
    }
    __syncthreads();
    if (lane < half) {
      const int other = lane + half;
      lane_sums.add({most[other][column], sum[other][column], weighted[other][column]});
    }
  }
  if (lane > 0 || j >= d) return;
  const std::int64_t out = (b * job.heads + i) * d + j;
  job.pooled[out] = length > 0 ? lane_sums.weighted / lane_sums.sum : T(0);
  job.most[out] = lane_sums.most;
  job.sums[out] = length > 0 ? lane_sums.sum : T(1);
}

/// A thread computes one dimension of some words, for all heads. Words are independent, so that a long
/// sentence has many blocks.
template <typename T>
__global__ void backward(VectorPooling<T> job) {
  const std::int64_t b = blockIdx.x, d = job.features, length = length_of(job, b);
  const std::int64_t j = std::int64_t{blockIdx.y} * kColumns + threadIdx.x;
  if (j >= d) return;
  const std::int64_t step = std::int64_t{gridDim.z} * kLanes * kWords;
  for (std::int64_t first = std::int64_t{blockIdx.z} * kLanes * kWords + threadIdx.y; first < job.time;
       first += step) {
    T h[kWords], grad_h[kWords];
    for (int k = 0; k < kWords; ++k) {
      const std::int64_t t = first + k * kLanes;
      h[k] = t < length ? job.h[(b * job.time + t) * d + j] : T(0);
      grad_h[k] = 0;
    }
    for (std::int64_t i = 0; i < job.heads; ++i) {
      const std::int64_t out = (b * job.heads + i) * d + j, head = (i * job.sentences + b) * job.time;
      const T most = job.most[out], pooled = job.pooled[out], g = job.gradient[out] / job.sums[out];
      for (int k = 0; k < kWords; ++k) {
        const std::int64_t t = first + k * kLanes;
        if (t >= job.time) break;
        const std::int64_t at = (head + t) * d + j;
        const T weighted = t < length ? exp(job.scores[at] - most) * g : T(0);
        job.grad_scores[at] = t < length ? weighted * (h[k] - pooled) : T(0);
        grad_h[k] += weighted;
      }
    }
    for (int k = 0; k < kWords; ++k) {
      const std::int64_t t = first + k * kLanes;
      if (t < job.time) job.grad_h[(b * job.time + t) * d + j] = grad_h[k];
    }
  }
}

#ifdef __CUDACC__
template <typename T>
int launch(void (*kernel)(VectorPooling<T>), dim3 grid, dim3 block, void* stream,
           const VectorPooling<T>& job) {
  kernel<<<grid, block, 0, static_cast<cudaStream_t>(stream)>>>(job);
  return static_cast<int>(cudaGetLastError());
}
#endif

unsigned int blocks_of(std::int64_t count, std::int64_t size) {
  return static_cast<unsigned int>((count + size - 1) / size);
}

}  // namespace

template <typename T>
int pool_vectors(const VectorPooling<T>& job, void* stream) {
  if (job.sentences == 0) return 0;
  const dim3 grid(static_cast<unsigned int>(job.sentences), blocks_of(job.features, kColumns),
                  static_cast<unsigned int>(job.heads));
  return launch(forward<T>, grid, dim3(kColumns, kLanes), stream, job);
}

template <typename T>
int pool_vectors_backward(const VectorPooling<T>& job, void* stream) {
  if (job.sentences == 0 || job.time == 0) return 0;
  constexpr std::int64_t kBlocks = 1024;  // of words, at most; a block then has several
  const std::int64_t blocks = blocks_of(job.time, kLanes * kWords);
  const dim3 grid(static_cast<unsigned int>(job.sentences), blocks_of(job.features, kColumns),
                  static_cast<unsigned int>(blocks < kBlocks ? blocks : kBlocks));
  return launch(backward<T>, grid, dim3(kColumns, kLanes), stream, job);
}

template int pool_vectors(const VectorPooling<float>& job, void* stream);
template int pool_vectors(const VectorPooling<double>& job, void* stream);
template int pool_vectors_backward(const VectorPooling<float>& job, void* stream);
template int pool_vectors_backward(const VectorPooling<double>& job, void* stream);

}  // namespace sentencode::nn

#ifdef SELF_TEST
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace sentencode::nn {
namespace {

// Plain kernels with a thread per dimension, for comparison.
__global__ void plain_forward(VectorPooling<float> job) {
  const std::int64_t j = std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (j < job.features) reference_forward<float>(job, blockIdx.x, blockIdx.z, j);
}
__global__ void plain_backward(VectorPooling<float> job) {
  const std::int64_t j = std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (j >= job.features) return;
  for (std::int64_t t = 0; t < job.time; ++t) reference_backward<float>(job, blockIdx.x, t, j);
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  std::exit(2);
}

/// An array on host and device; the device has NaN at first.
template <typename T>
struct Array {
  std::vector<T> host;
  T* device = nullptr;
  explicit Array(std::size_t size) : host(size) {
    check(cudaMalloc(&device, std::max<std::size_t>(size, 1) * sizeof(T)), "cudaMalloc");
    check(cudaMemset(device, 0xff, size * sizeof(T)), "cudaMemset");
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(device); }
  void to_device() {
    check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }
  void to_host() {
    check(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy");
  }
};

/// Milliseconds of the fastest of some calls.
template <typename Call>
float fastest(const Call& call) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  float best = 1e30F;
  for (int i = 0; i < 10; ++i) {
    check(cudaEventRecord(begin), "event");
    call();
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "event");
    best = std::min(best, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

/// The largest difference, relative to the largest number; NaN counts as infinite.
double error_of(const std::vector<float>& actual, const std::vector<double>& expected) {
  double worst = 0, scale = 1e-30;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const double difference = std::abs(actual[k] - expected[k]);
    worst = difference <= worst ? worst : std::isnan(difference) ? HUGE_VAL : difference;
    scale = std::max(scale, std::abs(expected[k]));
  }
  return worst / scale;
}

bool run(std::int64_t sentences, std::int64_t time, std::int64_t d, std::int64_t heads, bool one_is_long) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto size = [](auto... n) { return static_cast<std::size_t>((n * ...)); };
  Array<std::int64_t> lengths(size(sentences));
  for (std::int64_t b = 0; b < sentences; ++b) {
    lengths.host[size(b)] = one_is_long ? (b == 0 ? time : 5) : std::int64_t(random() % size(time + 1));
  }
  const auto padded = size(sentences, time, d), out = size(sentences, heads, d);
  Array<float> scores(padded * size(heads)), h(padded), pooled(out), most(out), sums(out), g(out);
  Array<float> grad_scores(padded * size(heads)), grad_h(padded);
  for (auto* array : {&scores, &h, &g}) {
    for (float& x : array->host) x = normal(random);
    array->to_device();
  }
  lengths.to_device();
  const VectorPooling<float> job{
      sentences,     time,        d,           heads,    lengths.device,     scores.device, h.device,
      pooled.device, most.device, sums.device, g.device, grad_scores.device, grad_h.device};
  check(static_cast<cudaError_t>(pool_vectors(job, nullptr)), "forward");
  check(static_cast<cudaError_t>(pool_vectors_backward(job, nullptr)), "backward");
  check(cudaDeviceSynchronize(), "kernels");
  for (auto* array : {&pooled, &grad_scores, &grad_h}) array->to_host();

  const auto to_double = [](const Array<float>& array) {
    return std::vector<double>(array.host.begin(), array.host.end());
  };
  const std::vector<double> scores_d = to_double(scores), h_d = to_double(h), g_d = to_double(g);
  std::vector<double> v(out), m(out), s(out), exact_grad_scores(scores_d.size()), exact_grad_h(padded);
  const VectorPooling<double> exact{
      sentences, time,     d,        heads,      lengths.host.data(),      scores_d.data(),    h_d.data(),
      v.data(),  m.data(), s.data(), g_d.data(), exact_grad_scores.data(), exact_grad_h.data()};
  for (std::int64_t b = 0; b < sentences; ++b) {
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t i = 0; i < heads; ++i) reference_forward(exact, b, i, j);
      for (std::int64_t t = 0; t < time; ++t) reference_backward(exact, b, t, j);
    }
  }
  const double errors[] = {error_of(pooled.host, v), error_of(grad_scores.host, exact_grad_scores),
                           error_of(grad_h.host, exact_grad_h)};
  bool good = true;
  for (const double error : errors) good = good && error < 1e-5;

  const dim3 grid(unsigned(sentences), blocks_of(d, 128), unsigned(heads)),
      columns(unsigned(sentences), blocks_of(d, 128));
  const float ms[] = {fastest([&] { pool_vectors(job, nullptr); }),
                      fastest([&] { plain_forward<<<grid, 128>>>(job); }),
                      fastest([&] { pool_vectors_backward(job, nullptr); }),
                      fastest([&] { plain_backward<<<columns, 128>>>(job); })};
  check(cudaGetLastError(), "kernels");
  double words = 0;
  for (const std::int64_t length : lengths.host) words += double(length);
  const double read = 4e-6 * words * double(d) * double(heads + 1);  // megabytes: scores and h, once
  const double moved = read + 4e-6 * double(padded) * double(heads + 1);
  std::printf(
      "B %6lld T %6lld d %4lld I %2lld%s: errors %.1e %.1e %.1e  forward %.3f ms (plain %.3f, %.0f GB/s)  "
      "backward %.3f ms (plain %.3f, %.0f GB/s)  %s\n",
      (long long)sentences, (long long)time, (long long)d, (long long)heads, one_is_long ? " one long" : "",
      errors[0], errors[1], errors[2], ms[0], ms[1], read / ms[0], ms[2], ms[3], moved / ms[2],
      good ? "ok" : "WRONG");
  return good;
}

}  // namespace
}  // namespace sentencode::nn

int main() {
  using sentencode::nn::run;
  bool good = true;
  for (const std::int64_t d : {1, 31, 32, 33, 600}) {
    for (const std::int64_t time : {1, 7, 8, 9, 33}) good = run(5, time, d, 3, false) && good;
  }
  good = run(64, 40, 600, 5, false) && good;  // paper 002
  good = run(512, 40, 600, 5, false) && good;
  good = run(32, 5000, 64, 2, true) && good;
  good = run(1, 100000, 32, 1, true) && good;
  good = run(70000, 2, 8, 1, false) && good;
  good = run(4, 9, 40, 64, false) && good;
  std::printf("%s\n", good ? "ok" : "WRONG");
  return good ? 0 : 1;
}
#endif
