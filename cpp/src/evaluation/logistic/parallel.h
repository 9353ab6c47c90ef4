// How the solver of logistic regressions shares its work among threads.
#pragma once

#include <cstdint>
#include <functional>

namespace sentencode::logistic {

constexpr std::int64_t kRowsOfBlock = 16384;       // of features that are made anew
constexpr std::int64_t kNumbersOfBlock = 1 << 18;  // that a thread works on: they stay in its cache
constexpr double kSmall = 1 << 22;                 // multiplications that are not worth a second thread

/// body(i) for all i < count, on all threads where the work is worth them.
void in_parallel(std::int64_t count, bool worth, const std::function<void(std::int64_t)>& body);

}  // namespace sentencode::logistic
