#include "nn/decoding_kernels.h"

#include <algorithm>
#include <cmath>

#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kBlock = 64;  // logits compared together: most blocks contain none of the k largest

ST_INLINE float largest(const float* x) {
  float lanes[kLanes];
  for (std::int64_t n = 0; n < kLanes; ++n) lanes[n] = x[n];
  for (std::int64_t i = kLanes; i < kBlock; i += kLanes) {
    for (std::int64_t n = 0; n < kLanes; ++n) lanes[n] = lanes[n] < x[i + n] ? x[i + n] : lanes[n];
  }
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t n = 0; n < half; ++n)
      lanes[n] = lanes[n] < lanes[n + half] ? lanes[n + half] : lanes[n];
  }
  return lanes[0];
}

}  // namespace

ST_VERSIONS void most_likely(const float* logits, std::int64_t size, std::int64_t k, float* log_p,
                             std::int64_t* ids) {
  std::int64_t filled = 0;  // the first k are inserted even if they are -inf, so that ids are distinct
  const auto insert = [&](std::int64_t i) {
    const float x = logits[i];
    if (filled == k && !(x > log_p[k - 1])) return;
    std::int64_t j = filled < k ? filled++ : k - 1;
    for (; j > 0 && x > log_p[j - 1]; --j) {
      log_p[j] = log_p[j - 1];
      ids[j] = ids[j - 1];
    }
    log_p[j] = x;
    ids[j] = i;
  };
  std::int64_t i = 0;
  for (; i + kBlock <= size; i += kBlock) {
    if (filled == k && !(largest(logits + i) > log_p[k - 1])) continue;
    for (std::int64_t n = 0; n < kBlock; ++n) insert(i + n);
  }
  for (; i < size; ++i) insert(i);
  const float max = log_p[0];
  float lanes[kLanes] = {};
  for (i = 0; i + kLanes <= size; i += kLanes) {
    for (std::int64_t n = 0; n < kLanes; ++n) lanes[n] += fast_exp(logits[i + n] - max);
  }
  for (; i < size; ++i) lanes[0] += fast_exp(logits[i] - max);
  const float log_sum = max + std::log(total(lanes));
  for (std::int64_t j = 0; j < k; ++j) log_p[j] -= log_sum;
}

}  // namespace sentencode::nn
