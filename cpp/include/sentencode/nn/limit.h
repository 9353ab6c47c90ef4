#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>

namespace sentencode::nn {

/// Limits the parameters that this thread creates while the object exists, and their elements in total. A
/// network described by a damaged file is refused before it allocates more memory than the file has data for.
class NumbersLimit {
 public:
  NumbersLimit(std::int64_t elements, std::int64_t parameters);
  ~NumbersLimit();
  NumbersLimit(const NumbersLimit&) = delete;
  NumbersLimit& operator=(const NumbersLimit&) = delete;

 private:
  std::int64_t previous_elements_, previous_parameters_;
};

/// InvalidInput if a parameter of this shape exceeds the limit.
void check_limit(c10::IntArrayRef shape);

}  // namespace sentencode::nn
