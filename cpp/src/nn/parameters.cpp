#include "nn/parameters.h"

#include <ATen/Functions.h>

#include <limits>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
thread_local std::int64_t left = kNoLimit;

}  // namespace

NumbersLimit::NumbersLimit(std::int64_t numbers) : before_(left) { left = numbers; }
NumbersLimit::~NumbersLimit() { left = before_; }

void check_limit(at::IntArrayRef shape) {
  if (left == kNoLimit) return;
  std::int64_t numbers = 1;
  bool fits = true;
  for (const std::int64_t extent : shape) fits = fits && !__builtin_mul_overflow(numbers, extent, &numbers);
  ST_CHECK(fits && numbers <= left, InvalidInput, "it needs parameters of the shape ", shape,
           ", and the file has not so many numbers");
  left -= numbers;
}

at::Tensor uninitialised(at::IntArrayRef shape) {
  check_limit(shape);
  return at::empty(shape);
}

}  // namespace sentencode::nn
