#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sentencode::nn {

enum class Pooling { mean, max, mean_max, last };

Pooling parse_pooling(std::string_view name);  // InvalidInput names the choices
std::string_view pooling_name(Pooling pooling);

/// How many vectors of the input's width stand side by side in the output.
std::int64_t pooling_width(Pooling pooling);

/// One vector for each sentence of its words' vectors: their mean, maximum, both side by side, or the last.
/// Only words where `mask` is true count; a sentence without any has a zero row, and no gradient.
///   x [B, T, D] floating, mask [B, T] bool or undefined for all -> [B, D], or [B, 2 D] (mean first) for
///   mean_max
at::Tensor masked_pooling(const at::Tensor& x, const at::Tensor& mask, Pooling pooling);

/// masked_pooling as a layer.
class MaskedPooling : public torch::nn::Module {
 public:
  explicit MaskedPooling(const std::string& pooling = "mean_max");
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask) const;
  void pretty_print(std::ostream& out) const override;

 private:
  Pooling pooling_;
};

}  // namespace sentencode::nn
