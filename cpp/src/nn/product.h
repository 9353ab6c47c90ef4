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

/// A matrix on the CPU with rows, or columns, without gaps; it may be those of the tensor's rows that are at
/// some places, and many of its numbers may be zero.
struct Placed {
  at::Tensor tensor, places;
  bool zeros = false;

  Placed(const at::Tensor& of, const at::Tensor& at = {}) : tensor(of), places(at) {}  // NOLINT(*-explicit-*)
  const std::int64_t* places_or_null() const;
};

/// out = f(x y + b), without gradients; out [n, O], x [n, D], y [D, O]; b [O] or undefined; f may be relu or
/// tanh.
void multiply(const Placed& out, const Placed& x, const Placed& y, const at::Tensor& bias = {},
              Activation activation = Activation::none);
/// out += x y
void add_product(const Placed& out, const Placed& x, const Placed& y);

/// What `layer` makes of x [..., D] -> [..., O], with gradients where they are wanted. On processors that are
/// not Intel's, oneDNN computes it and the gradient of x: there it is faster than MKL, which torch takes
/// everywhere: a tenth on Zen 4, twice on Zen 5.
at::Tensor linear(torch::nn::LinearImpl& layer, const at::Tensor& x);

}  // namespace sentencode::nn
