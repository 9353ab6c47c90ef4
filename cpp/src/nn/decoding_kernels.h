// The hot loop of searches, on plain memory.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// Of the softmax of `size` logits log p of the k largest, and their places, the largest first; of equal ones
/// the first. k is at most `size`.
void most_likely(const float* logits, std::int64_t size, std::int64_t k, float* log_p, std::int64_t* places);

}  // namespace sentencode::nn
