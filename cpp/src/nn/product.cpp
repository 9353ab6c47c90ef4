#include "nn/product.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "nn/vectorised.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr std::int64_t kFewRows = 128;        // fewer do not pay for another order of the weights
constexpr std::int64_t kMostRows = 4096;      // at once
constexpr std::int64_t kNumbers = 32 * 1024;  // that a thread is worth

bool mkl_is_fast() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  static const bool of_intel = __builtin_cpu_is("intel") != 0;
  return of_intel;
#else
  return true;  // it is not known which library is faster
#endif
}

/// Whether oneDNN is so much faster that it may copy what it cannot write in place: on AMD's processors from
/// family 26 on (Zen 5), most of which multiply 512 bits at once, where MKL uses the half. On those before,
/// MKL is as fast where it writes in place. SENTENCODE_PRODUCTS=onednn or mkl decides otherwise, for tests,
/// in `multiply` and `add_product`.
bool onednn_is_much_faster() {
  static const bool answer = [] {
    const char* const wanted = std::getenv("SENTENCODE_PRODUCTS");
    if (wanted != nullptr && wanted == std::string_view("onednn")) return true;
    if (wanted != nullptr && wanted == std::string_view("mkl")) return false;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    unsigned int a = 0, b = 0, c = 0, d = 0;
    if (__builtin_cpu_is("amd") == 0 || __get_cpuid(1, &a, &b, &c, &d) == 0) return false;
    const unsigned int family = ((a >> 8) & 0xF) + ((a >> 20) & 0xFF);
    return family >= 26 && __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
  }();
  return answer;
}

bool is_plain(const Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
}

/// Whether oneDNN has the products, and not MKL, which is as fast on Intel's processors.
bool takes_onednn(std::int64_t rows, const Tensor& x, const Tensor& weight) {
  return !mkl_is_fast() && rows >= kFewRows && is_plain(x) && is_plain(weight);
}

/// Without gaps between rows, or between columns: of others, oneDNN makes some products by its reference, a
/// thousand times slower.
Tensor dense(const Tensor& matrix) {
  return matrix.is_contiguous() || matrix.t().is_contiguous() ? matrix : matrix.contiguous();
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

std::int64_t few_sizes(std::int64_t n) {
  if (n < kFewRows || !onednn_is_much_faster()) return n;
  const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1))) / 4;
  return (n + step - 1) / step * step;
}

namespace {

/// relu(y + b) in one pass; torch's product with a bias goes through y twice more.
ST_VERSIONS void add_and_cut(float* y, std::int64_t rows, std::int64_t width, const float* bias) {
  for (std::int64_t row = 0; row < rows; ++row, y += width) {
    for (std::int64_t j = 0; j < width; ++j) y[j] = std::max(y[j] + bias[j], 0.0F);
  }
}

/// f(x W^T + b) by oneDNN, or nothing.
std::optional<Tensor> by_onednn(std::int64_t rows, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                Activation activation) {
  static const auto linear = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!onednn_is_much_faster() || rows < kFewRows || !is_plain(x) || !is_plain(weight) || !linear ||
      !at::globalContext().userEnabledMkldnn() || rows != few_sizes(rows)) {
    return std::nullopt;
  }
  // oneDNN reads a bias as if it had no gaps.
  const auto given = bias.defined() ? std::optional<Tensor>(bias.contiguous()) : std::nullopt;
  return linear->typed<Product::Linear>().call(dense(x), dense(weight), given, activation_name(activation),
                                               c10::List<std::optional<at::Scalar>>(), std::nullopt);
}

}  // namespace

void multiply(const Tensor& out, std::int64_t rows, const Tensor& x, const Tensor& weight, const Tensor& bias,
              Activation activation) {
  ST_CHECK(activation != Activation::gelu, InternalError, "no product has a gelu");
  if (const auto found = by_onednn(rows, x, weight, bias, activation)) {
    out.copy_(*found);
    return;
  }
  Tensor y = out;
  if (bias.defined() && is_plain(y) && y.is_contiguous() && activation == Activation::relu) {
    at::mm_out(y, x, weight.t());
    const Tensor b = bias.contiguous();
    const std::int64_t width = y.size(1);
    at::parallel_for(0, y.size(0), std::max<std::int64_t>(1, kNumbers / width), [&](auto begin, auto end) {
      add_and_cut(y.mutable_data_ptr<float>() + begin * width, end - begin, width, b.const_data_ptr<float>());
    });
    return;
  }
  if (bias.defined()) {
    at::addmm_out(y, bias, x, weight.t());
  } else {
    at::mm_out(y, x, weight.t());
  }
  if (activation == Activation::relu) y.relu_();
  if (activation == Activation::tanh) y.tanh_();
}

void add_product(const Tensor& out, std::int64_t rows, const Tensor& x, const Tensor& weight, bool first) {
  if (first) {
    multiply(out, rows, x, weight);
  } else if (const auto found = by_onednn(rows, x, weight, {}, Activation::none)) {
    out.add_(*found);
  } else {
    out.addmm_(x, weight.t());
  }
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
