#include "nn/parameters.h"

#include <ATen/Functions.h>

#include <limits>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
thread_local std::int64_t numbers_left = kNoLimit;
thread_local std::int64_t parameters_left = kNoLimit;

}  // namespace

NumbersLimit::NumbersLimit(std::int64_t numbers, std::int64_t parameters)
    : numbers_before_(numbers_left), parameters_before_(parameters_left) {
  numbers_left = numbers;
  parameters_left = parameters;
}

NumbersLimit::~NumbersLimit() {
  numbers_left = numbers_before_;
  parameters_left = parameters_before_;
}

void check_limit(at::IntArrayRef shape) {
  if (numbers_left == kNoLimit) return;
  ST_CHECK(parameters_left-- > 0, InvalidInput, "it needs more parameters than the file has tensors");
  std::int64_t numbers = 1;
  bool fits = true;
  for (const std::int64_t extent : shape) fits = fits && !__builtin_mul_overflow(numbers, extent, &numbers);
  ST_CHECK(fits && numbers <= numbers_left, InvalidInput, "it needs parameters of the shape ", shape,
           ", and the file has not so many numbers");
  numbers_left -= numbers;
}

at::Tensor uninitialised(at::IntArrayRef shape) {
  check_limit(shape);
  return at::empty(shape, at::kFloat);
}

}  // namespace sentencode::nn
