#include "nn/product.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr std::int64_t kLeastRows = 128;  // for fewer, reordering the weights takes longer than it saves
constexpr std::int64_t kMostRows = 4096;  // of one product

bool is_intel() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  static const bool intel = __builtin_cpu_is("intel") != 0;
  return intel;
#else
  return true;  // unknown processors use MKL
#endif
}

bool is_dense_float(const Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
}

/// Whether oneDNN is used. On Intel's processors MKL is as fast.
bool use_onednn(std::int64_t rows, const Tensor& x, const Tensor& weight) {
  return !is_intel() && rows >= kLeastRows && is_dense_float(x) && is_dense_float(weight);
}

/// y = x W^T + b
class Linear : public torch::autograd::Function<Linear> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value();
    return product(x, weight, bias.value_or(Tensor()));
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const tensor_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const Tensor grad_y = grads[0].contiguous();  // [n, O]
    Tensor grad_x, grad_weight, grad_bias;
    if (context->needs_input_grad(0)) {
      // oneDNN's product has no gradient: a second derivative needs torch's.
      grad_x = at::GradMode::is_enabled() ? grad_y.mm(weight) : product(grad_y, weight.t().contiguous());
    }
    if (context->needs_input_grad(1)) grad_weight = grad_y.t().mm(x);
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2)) grad_bias = grad_y.sum(0);
    return {grad_x, grad_weight, grad_bias};
  }
};

}  // namespace

Product::Product(const Tensor& weight, const Tensor& bias, std::int64_t rows, std::int64_t all_rows)
    : weight_(weight), bias_(bias.defined() ? bias.contiguous() : bias) {
  static const auto reorder = c10::Dispatcher::singleton().findSchema({"mkldnn::_reorder_linear_weight", ""});
  static const auto linear = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!reorder || !linear || !at::globalContext().userEnabledMkldnn() || all_rows < kLeastRows ||
      !is_dense_float(weight)) {
    return;
  }
  linear_.emplace(linear->typed<Product::Linear>());
  weight_ = reorder->typed<Tensor(const Tensor&, std::optional<std::int64_t>)>().call(weight, rows);
}

Tensor Product::operator()(const Tensor& x) const {
  if (!linear_) return at::linear(x, weight_, bias_);
  const auto bias = bias_.defined() ? std::optional<Tensor>(bias_) : std::nullopt;
  return linear_->call(x, weight_, bias, "none", c10::List<std::optional<at::Scalar>>(), std::nullopt);
}

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::int64_t n = x.size(0);
  if (!use_onednn(n, x, weight)) return at::linear(x, weight, bias);
  const Product multiply(weight, bias, n, n);
  // In pieces of few sizes, powers of two, the last one padded: programs for every n would take gigabytes.
  std::vector<Tensor> pieces;
  for (std::int64_t begin = 0, size = 0; begin < n; begin += size) {
    const std::int64_t rest = n - begin;
    size = std::clamp(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rest))), kLeastRows,
                      kMostRows);
    const Tensor piece = x.narrow(0, begin, std::min(size, rest));
    pieces.push_back(rest >= size
                         ? multiply(piece)
                         : multiply(at::constant_pad_nd(piece, {0, 0, 0, size - rest})).narrow(0, 0, rest));
  }
  return pieces.size() == 1 ? pieces[0] : at::cat(pieces);
}

Tensor linear(torch::nn::LinearImpl& layer, const Tensor& x) {
  const std::int64_t rows = x.numel() / std::max<std::int64_t>(1, x.size(-1));
  if (!use_onednn(rows, x, layer.weight) || at::autocast::is_autocast_enabled(at::kCPU)) {
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
