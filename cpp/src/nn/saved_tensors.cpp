#include "nn/saved_tensors.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

constexpr std::pair<DType, at::ScalarType> kTypes[] = {
    {DType::boolean, at::kBool}, {DType::u8, at::kByte},   {DType::i8, at::kChar},
    {DType::i16, at::kShort},    {DType::f16, at::kHalf},  {DType::bf16, at::kBFloat16},
    {DType::i32, at::kInt},      {DType::f32, at::kFloat}, {DType::i64, at::kLong},
    {DType::f64, at::kDouble},
};

}  // namespace

Tensor view_of(const std::string& name, const at::Tensor& tensor) {
  ST_CHECK(tensor.device().is_cpu() && tensor.is_contiguous(), InternalError, "tensor '", name,
           "' must be contiguous and on the CPU");
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs != tensor.scalar_type()) continue;
    return {ours,
            tensor.sizes().vec(),
            {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
  }
  throw InvalidInput(concat("tensor '", name,
                            "' has a type that files cannot contain: ", c10::toString(tensor.scalar_type())));
}

at::Tensor copy_of(const std::string& source, const std::string& name, const Tensor& tensor) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours != tensor.dtype) continue;
    at::Tensor copy = at::empty(tensor.shape, theirs);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), static_cast<std::byte*>(copy.mutable_data_ptr()));
    return copy;
  }
  throw FormatError(concat(source, ": tensor '", name, "' has a type that torch does not have"));
}

}  // namespace sentencode::nn
