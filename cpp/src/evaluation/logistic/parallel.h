// Parallel loops of the solver of logistic regressions.
#pragma once

#include <cstdint>
#include <functional>

namespace sentencode::logistic {

constexpr std::int64_t kRowsOfBlock = 16384;       // of features that are recomputed
constexpr std::int64_t kNumbersOfBlock = 1 << 18;  // that fit a thread's cache
constexpr double kSmall = 1 << 22;                 // multiplications below which one thread is faster

/// body(i) for all i < count, on all threads if there is enough work.
void in_parallel(std::int64_t count, bool worth, const std::function<void(std::int64_t)>& body);

}  // namespace sentencode::logistic
