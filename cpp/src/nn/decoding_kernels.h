// The most likely words, on plain memory.
#pragma once

#include <cstdint>

namespace sentencode::nn {

/// log p, under the softmax of `size` logits, of the k largest logits, and their ids, largest first; of equal
/// logits the first. k must be at most `size`.
void most_likely(const float* logits, std::int64_t size, std::int64_t k, float* log_p, std::int64_t* ids);

}  // namespace sentencode::nn
