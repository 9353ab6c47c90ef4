#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>

namespace sentencode::nn {

/// While it lives, parameters that this thread makes may have so many numbers together: a network that a file
/// describes is refused before it takes more memory than the file has numbers for.
class NumbersLimit {
 public:
  explicit NumbersLimit(std::int64_t numbers);
  ~NumbersLimit();
  NumbersLimit(const NumbersLimit&) = delete;
  NumbersLimit& operator=(const NumbersLimit&) = delete;

 private:
  std::int64_t before_;
};

/// InvalidInput where parameters of this shape pass the limit.
void check_limit(c10::IntArrayRef shape);

}  // namespace sentencode::nn
