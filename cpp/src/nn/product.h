// Products of rows with a layer's weights, by the library that is fastest for them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// x W^T + b many times with one W, without gradients; float on the CPU. oneDNN wants W in an order of its
/// own, in which it is much faster where rows are few, and on processors that are not Intel's.
class Product {
 public:
  using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                            std::string_view, c10::List<std::optional<at::Scalar>>,
                            std::optional<std::string_view>);

  /// weight [O, D], bias [O] or undefined; of about `rows` rows each time, and of `all_rows` together.
  Product(const at::Tensor& weight, const at::Tensor& bias, std::int64_t rows, std::int64_t all_rows);

  at::Tensor operator()(const at::Tensor& x) const;  // [n, D] -> [n, O]
  /// The like in one piece. oneDNN keeps a program of its own for each n that it ever saw: callers have few.
  at::Tensor at_once(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
  std::optional<c10::TypedOperatorHandle<Linear>> linear_;
};

/// x W^T + b, without gradients; x [n, D] of any n, W [O, D] contiguous, b [O] or undefined.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// out = f(x W^T + b), without gradients, in one piece; out [n, O], x [n, D], W [O, D], in any order in
/// memory; b [O] or undefined; f may be relu or tanh. Of n, D and O, `rows` is the one that text decides: if
/// it is one of the `few_sizes`, oneDNN computes the product where it is faster, else torch does.
void multiply(const at::Tensor& out, std::int64_t rows, const at::Tensor& x, const at::Tensor& weight,
              const at::Tensor& bias = {}, Activation activation = Activation::none);
/// out += x W^T, or at `first` =
void add_product(const at::Tensor& out, std::int64_t rows, const at::Tensor& x, const at::Tensor& weight,
                 bool first = false);

/// Where oneDNN multiplies, which keeps a program for each size that it ever saw, the next of a few numbers,
/// at most a quarter more than n; elsewhere n.
std::int64_t few_sizes(std::int64_t n);

/// What `layer` makes of x [..., D] -> [..., O], with gradients where they are wanted. On processors that are
/// not Intel's, oneDNN computes it and the gradient of x: there it is faster than MKL, which torch takes
/// everywhere: a tenth on Zen 4, twice on Zen 5.
at::Tensor linear(torch::nn::LinearImpl& layer, const at::Tensor& x);

}  // namespace sentencode::nn
