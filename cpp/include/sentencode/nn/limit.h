#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>

namespace sentencode::nn {

/// While it lives, this thread may make so many parameters, which have so many numbers together: a network
/// that a file describes is refused before it takes more memory than the file has tensors and numbers for.
class NumbersLimit {
 public:
  NumbersLimit(std::int64_t numbers, std::int64_t parameters);
  ~NumbersLimit();
  NumbersLimit(const NumbersLimit&) = delete;
  NumbersLimit& operator=(const NumbersLimit&) = delete;

 private:
  std::int64_t numbers_before_, parameters_before_;
};

/// InvalidInput where parameters of this shape pass the limit.
void check_limit(c10::IntArrayRef shape);

}  // namespace sentencode::nn
