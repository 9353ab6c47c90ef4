#include "nn/parameters.h"

#include <ATen/Functions.h>

#include <limits>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
thread_local std::int64_t elements_left = kNoLimit;
thread_local std::int64_t parameters_left = kNoLimit;

}  // namespace

NumbersLimit::NumbersLimit(std::int64_t elements, std::int64_t parameters)
    : previous_elements_(elements_left), previous_parameters_(parameters_left) {
  elements_left = elements;
  parameters_left = parameters;
}

NumbersLimit::~NumbersLimit() {
  elements_left = previous_elements_;
  parameters_left = previous_parameters_;
}

void check_limit(at::IntArrayRef shape) {
  if (elements_left == kNoLimit) return;
  ST_CHECK(parameters_left-- > 0, InvalidInput, "the network has more parameters than the file has tensors");
  std::int64_t elements = 1;
  bool fits = true;
  for (const std::int64_t extent : shape) fits = fits && !__builtin_mul_overflow(elements, extent, &elements);
  ST_CHECK(fits && elements <= elements_left, InvalidInput, "the network has a parameter of shape ", shape,
           ", for which the file has too little data");
  elements_left -= elements;
}

at::Tensor uninitialised(at::IntArrayRef shape) {
  check_limit(shape);
  return at::empty(shape, at::kFloat);
}

}  // namespace sentencode::nn
