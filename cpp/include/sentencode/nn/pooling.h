#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

#include "sentencode/enum_names.h"

namespace sentencode::nn {

enum class Pooling { mean, max, mean_max, last };
constexpr EnumNames<4> enum_names(Pooling) { return {"pooling", {"mean", "max", "mean_max", "last"}}; }

/// Width of the output, relative to that of the input.
std::int64_t pooling_width(Pooling pooling);

/// The mean, the maximum, both (mean first), or the last of the word vectors of each sentence. A sentence
/// without words has a zero vector and no gradient.
///   x [B, T, D] floating point, mask [B, T] bool or undefined -> [B, D], for mean_max [B, 2 D]
at::Tensor masked_pooling(const at::Tensor& x, const at::Tensor& mask, Pooling pooling);

/// masked_pooling as a layer.
class MaskedPooling : public torch::nn::Module {
 public:
  explicit MaskedPooling(Pooling pooling = Pooling::mean_max) : Module("MaskedPooling"), pooling_(pooling) {}
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask) const;
  void pretty_print(std::ostream& out) const override;

 private:
  Pooling pooling_;
};

}  // namespace sentencode::nn
