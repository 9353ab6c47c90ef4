#include "nn/product.h"

#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/matrix_product.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr std::int64_t kFewRows = 128;    // fewer do not pay for another order of the weights
constexpr std::int64_t kMostRows = 4096;  // at once

bool mkl_is_fast() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  static const bool of_intel = __builtin_cpu_is("intel") != 0;
  return of_intel;
#else
  return true;  // it is not known which library is faster
#endif
}

bool is_plain(const Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
}

/// Whether oneDNN has the products, and not MKL, which is as fast on Intel's processors.
bool takes_onednn(std::int64_t rows, const Tensor& x, const Tensor& weight) {
  return !mkl_is_fast() && rows >= kFewRows && is_plain(x) && is_plain(weight);
}

/// y = x W^T + b
class Linear : public torch::autograd::Function<Linear> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["biased"] = bias.has_value();
    return product(x, weight, bias.value_or(Tensor()));
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const tensor_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const Tensor g = gradients[0].contiguous();  // [n, O]
    Tensor of_x, of_weight, of_bias;
    if (context->needs_input_grad(0)) {
      // oneDNN's product has no gradient: one that is wanted of this gradient needs torch's.
      of_x = at::GradMode::is_enabled() ? g.mm(weight) : product(g, weight.t().contiguous(), {});
    }
    if (context->needs_input_grad(1)) of_weight = g.t().mm(x);
    if (context->saved_data["biased"].toBool() && context->needs_input_grad(2)) of_bias = g.sum(0);
    return {of_x, of_weight, of_bias};
  }
};

}  // namespace

Product::Product(const Tensor& weight, const Tensor& bias, std::int64_t rows, std::int64_t all_rows)
    : weight_(weight), bias_(bias.defined() ? bias.contiguous() : bias) {
  static const auto reorder = c10::Dispatcher::singleton().findSchema({"mkldnn::_reorder_linear_weight", ""});
  static const auto linear = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!reorder || !linear || !at::globalContext().userEnabledMkldnn() || all_rows < kFewRows ||
      !is_plain(weight)) {
    return;
  }
  linear_.emplace(linear->typed<Product::Linear>());
  weight_ = reorder->typed<Tensor(const Tensor&, std::optional<std::int64_t>)>().call(weight, rows);
}

Tensor Product::at_once(const Tensor& x) const {
  if (!linear_) return at::linear(x, weight_, bias_);
  const auto bias = bias_.defined() ? std::optional<Tensor>(bias_) : std::nullopt;
  return linear_->call(x, weight_, bias, "none", c10::List<std::optional<at::Scalar>>(), std::nullopt);
}

Tensor Product::operator()(const Tensor& x) const {
  if (!linear_) return at_once(x);
  // In pieces of few sizes, powers of two, the last one filled up: a program for every n that text brings
  // would take gigabytes.
  const std::int64_t n = x.size(0);
  if (n <= kMostRows && n >= kFewRows && std::has_single_bit(static_cast<std::uint64_t>(n)))
    return at_once(x);
  std::vector<Tensor> pieces;
  for (std::int64_t begin = 0, size = 0; begin < n; begin += size) {
    const std::int64_t left = n - begin;
    size = std::clamp(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(left))), kFewRows,
                      kMostRows);
    const Tensor some = x.narrow(0, begin, std::min(size, left));
    pieces.push_back(left >= size
                         ? at_once(some)
                         : at_once(at::constant_pad_nd(some, {0, 0, 0, size - left})).narrow(0, 0, left));
  }
  return at::cat(pieces);
}

const std::int64_t* Placed::places_or_null() const {
  return places.defined() ? places.const_data_ptr<std::int64_t>() : nullptr;
}

namespace {

/// Its rows in memory, and whether these are its columns.
template <typename T, typename Get>
std::pair<RowsOf<T>, bool> rows_of(const Placed& matrix, const Get& data) {
  const Tensor& tensor = matrix.tensor;
  if (tensor.stride(1) == 1 || tensor.size(1) == 1) {
    return {{data(tensor), tensor.stride(0), matrix.places_or_null()}, false};
  }
  ST_CHECK((tensor.stride(0) == 1 || tensor.size(0) == 1) && !matrix.places.defined(), InternalError,
           "a matrix has gaps within its rows and its columns");
  return {{data(tensor), tensor.stride(1)}, true};
}

template <typename T>
void multiply_as(const Placed& out, const Placed& x, const Placed& y, const Tensor& bias,
                 Activation activation, bool add) {
  const auto read = [](const Tensor& tensor) { return tensor.const_data_ptr<T>(); };
  MatrixProduct<T> product;
  product.add = add;
  product.activation = activation;
  product.zeros = x.zeros;
  std::tie(product.x, product.x_transposed) = rows_of<const T>(x, read);
  std::tie(product.y, product.y_transposed) = rows_of<const T>(y, read);
  bool transposed = false;
  std::tie(product.out, transposed) =
      rows_of<T>(out, [](const Tensor& tensor) { return tensor.mutable_data_ptr<T>(); });
  ST_CHECK(!transposed, InternalError, "a product's rows have gaps");
  const auto size = [](const Placed& matrix) {
    return matrix.places.defined() ? matrix.places.size(0) : matrix.tensor.size(0);
  };
  product.rows = size(x);
  product.depth = size(y);
  product.columns = y.tensor.size(1);
  ST_CHECK(size(out) == product.rows && out.tensor.size(1) == product.columns &&
               x.tensor.size(1) == product.depth && (!bias.defined() || bias.size(0) == product.columns),
           InternalError, "matrices do not fit");
  const Tensor b = bias.defined() ? bias.contiguous() : bias;
  if (b.defined()) product.bias = b.const_data_ptr<T>();
  multiply_on_cpu(product);
}

}  // namespace

void multiply(const Placed& out, const Placed& x, const Placed& y, const Tensor& bias,
              Activation activation) {
  ST_CHECK(activation != Activation::gelu, InternalError, "no product has a gelu");
  AT_DISPATCH_FLOATING_TYPES(x.tensor.scalar_type(), "multiply",
                             [&] { multiply_as<scalar_t>(out, x, y, bias, activation, /*add=*/false); });
}

void add_product(const Placed& out, const Placed& x, const Placed& y) {
  AT_DISPATCH_FLOATING_TYPES(x.tensor.scalar_type(), "multiply",
                             [&] { multiply_as<scalar_t>(out, x, y, {}, Activation::none, /*add=*/true); });
}

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!takes_onednn(x.size(0), x, weight)) return at::linear(x, weight, bias);
  return Product(weight, bias, x.size(0), x.size(0))(x);
}

Tensor linear(torch::nn::LinearImpl& layer, const Tensor& x) {
  const std::int64_t rows = x.numel() / std::max<std::int64_t>(1, x.size(-1));
  if (!takes_onednn(rows, x, layer.weight) || at::autocast::is_autocast_enabled(at::kCPU)) {
    return layer.forward(x);
  }
  const Tensor flat = x.reshape({rows, x.size(-1)});
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = layer.weight.size(0);
  if (!at::GradMode::is_enabled()) return product(flat, layer.weight, layer.bias).view(shape);
  const auto bias = layer.bias.defined() ? std::optional<Tensor>(layer.bias) : std::nullopt;
  return nn::Linear::apply(flat, layer.weight, bias).view(shape);
}

}  // namespace sentencode::nn
