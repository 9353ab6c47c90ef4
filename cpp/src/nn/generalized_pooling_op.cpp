#include "nn/generalized_pooling_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/generalized_pooling_kernels.h"
#include "nn/product.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Forward = std::tuple<Tensor, Tensor, Tensor>;           // v, z, norms
using Backward = std::tuple<Tensor, Tensor, Tensor, Tensor>;  // gradients of h, W1, b1, W2

constexpr const char* kSchema =
    "attention_pooling(Tensor h, Tensor offsets, Tensor w1, Tensor? b1, Tensor w2, int heads, str scores, "
    "str activation) -> (Tensor v, Tensor z, Tensor norms)";
constexpr const char* kBackwardSchema =
    "attention_pooling_backward(Tensor g, Tensor h, Tensor offsets, Tensor w1, Tensor w2, Tensor v, Tensor "
    "z, "
    "Tensor norms, int heads, str scores, str activation) -> (Tensor, Tensor, Tensor, Tensor)";

/// What is given, and how its parts lie. A group has one hidden layer: it is a head if scores are of
/// dimensions, and otherwise all heads.
struct Form {
  bool scalar;
  Activation activation;
  std::int64_t heads, groups, rows, features, hidden, scores;  // I, G, R, d, d_a, scores of a group and a row

  Form(const Tensor& h, const Tensor& offsets, const Tensor& w1, const Tensor& w2, std::int64_t heads_given,
       std::string_view scores_given, std::string_view activation_given)
      : scalar(parse_scores(scores_given) == Scores::scalar),
        activation(parse_activation(activation_given)),
        heads(heads_given) {
    TORCH_CHECK_VALUE(activation == Activation::relu || activation == Activation::tanh,
                      "attention_pooling: activation must be 'relu' or 'tanh', got '", activation_given, "'");
    TORCH_CHECK_VALUE(h.dim() == 2 && (h.scalar_type() == at::kFloat || h.scalar_type() == at::kDouble),
                      "attention_pooling: h must be float or double [rows, features], got ", h.dtype(), " ",
                      h.sizes());
    TORCH_CHECK_VALUE(heads >= 1, "attention_pooling: heads must be at least 1, got ", heads);
    groups = scalar ? 1 : heads;
    rows = h.size(0);
    features = h.size(1);
    scores = scalar ? heads : features;
    TORCH_CHECK_VALUE(w1.dim() == 2 && w1.size(0) % groups == 0 && w1.size(1) == features &&
                          w1.scalar_type() == h.scalar_type() && w1.device() == h.device(),
                      "attention_pooling: w1 must be ", h.dtype(), " [", groups, " * hidden, ", features,
                      "], got ", w1.dtype(), " ", w1.sizes());
    hidden = w1.size(0) / groups;
    TORCH_CHECK_VALUE(w2.dim() == 2 && w2.size(0) == groups * scores && w2.size(1) == hidden &&
                          w2.scalar_type() == h.scalar_type() && w2.device() == h.device(),
                      "attention_pooling: w2 must be ", h.dtype(), " [", groups * scores, ", ", hidden,
                      "], got ", w2.dtype(), " ", w2.sizes());
    TORCH_CHECK_VALUE(offsets.dim() == 1 && offsets.size(0) >= 1 && offsets.scalar_type() == at::kLong &&
                          offsets.device() == h.device(),
                      "attention_pooling: offsets must be int64 [sentences + 1], got ", offsets.dtype(), " ",
                      offsets.sizes());
    if (!offsets.is_cpu()) return;  // a GPU would have to be waited for: its kernels clamp them
    const auto* const at = offsets.const_data_ptr<std::int64_t>();
    for (std::int64_t b = 0, last = 0; b < offsets.size(0); last = at[b++]) {
      TORCH_CHECK_VALUE(at[b] <= rows && (b == 0 ? at[b] == 0 : at[b] >= last),
                        "attention_pooling: offsets must rise from 0 to at most ", rows, ", got ", at[b],
                        " behind ", last);
    }
  }

  Tensor of_group(const Tensor& weights, std::int64_t group) const {  // its rows
    const std::int64_t n = weights.size(0) / groups;
    return weights.narrow(0, group * n, n);
  }
  Tensor hidden_of(const Tensor& z, std::int64_t group) const {  // [R, d_a]
    return z.narrow(1, group * hidden, hidden).contiguous();
  }
  /// S = Z W2^T  [R, d], scalar [R, I]
  Tensor scores_of(const Tensor& z, const Tensor& w2, std::int64_t group) const {
    return multiply(rows, z, of_group(w2, group));
  }

  template <typename T>
  PoolingJob<T> job(std::int64_t group, const Tensor& h, const Tensor& offsets, const Tensor& s,
                    const Tensor& v, const Tensor& norms) const {
    const std::int64_t sentences = offsets.size(0) - 1;
    T* const norm = norms.mutable_data_ptr<T>() + group * scores;
    return {.sentences = sentences,
            .rows = rows,
            .features = features,
            .heads = heads / groups,
            .scalar = scalar,
            .offsets = offsets.const_data_ptr<std::int64_t>(),
            .h = h.const_data_ptr<T>(),
            .scores = s.mutable_data_ptr<T>(),
            .most = norm,
            .sums = norm + sentences * norms.size(2),
            .pooled = v.mutable_data_ptr<T>() + (scalar ? 0 : group * features),
            .norm_stride = norms.size(2),
            .stride = v.size(1)};
  }
};

template <typename T>
void pool(const PoolingJob<T>& job, const Tensor& h) {
#ifdef SENTENCODE_HAVE_CUDA
  if (h.is_cuda()) {
    const c10::impl::VirtualGuardImpl gpu(c10::DeviceType::CUDA);
    void* const stream = gpu.getStreamNativeHandle(gpu.getStream(h.device()));
    const int failed = job.of_h == nullptr ? pool_on_gpu(job, stream) : pool_backward_on_gpu(job, stream);
    ST_CHECK(failed == 0, InternalError, "attention_pooling: a kernel failed with CUDA's error ", failed);
    return;
  }
#endif
  ST_CHECK(h.is_cpu(), Unsupported, "attention_pooling: there is no kernel for ", h.device(),
           " in this build");
  job.of_h == nullptr ? pool_on_cpu(job) : pool_backward_on_cpu(job);
}

Forward forward(const Tensor& h_given, const Tensor& offsets_given, const Tensor& w1, const MaybeTensor& b1,
                const Tensor& w2, std::int64_t heads, std::string_view scores, std::string_view activation) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor h = h_given.contiguous(), offsets = offsets_given.contiguous();
  const Form form(h, offsets, w1, w2, heads, scores, activation);
  TORCH_CHECK_VALUE(
      !b1 || (b1->dim() == 1 && b1->size(0) == w1.size(0) && b1->scalar_type() == h.scalar_type()),
      "attention_pooling: b1 must be ", h.dtype(), " [", w1.size(0), "]");
  const std::int64_t sentences = offsets.size(0) - 1, norms_of = form.groups * form.scores;
  const Tensor z = multiply(form.rows, h, w1, b1.value_or(Tensor()), form.activation);  // [R, G d_a]
  const Tensor v = at::zeros({sentences, heads * form.features}, h.options());          // [B, I d]
  const Tensor norms = at::zeros({2, sentences, norms_of}, h.options());  // [2, B, I d], scalar [2, B, I]
  for (std::int64_t group = 0; group < form.groups; ++group) {
    const Tensor s = form.scores_of(form.hidden_of(z, group), w2, group);
    AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "attention_pooling",
                               [&] { pool(form.job<scalar_t>(group, h, offsets, s, v, norms), h); });
  }
  return {v, z, norms};
}

Backward backward(const Tensor& g_given, const Tensor& h_given, const Tensor& offsets_given, const Tensor& w1,
                  const Tensor& w2, const Tensor& v, const Tensor& z, const Tensor& norms, std::int64_t heads,
                  std::string_view scores, std::string_view activation) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor g = g_given.contiguous(), h = h_given.contiguous(), offsets = offsets_given.contiguous();
  const Form form(h, offsets, w1, w2, heads, scores, activation);
  const Tensor of_h = at::zeros_like(h);  // [R, d]
  const Tensor of_w1 = at::empty_like(w1, at::MemoryFormat::Contiguous), of_b1 = h.new_empty({w1.size(0)});
  const Tensor of_w2 = at::empty_like(w2, at::MemoryFormat::Contiguous);
  for (std::int64_t group = 0; group < form.groups; ++group) {
    const Tensor z_of = form.hidden_of(z, group);      // [R, d_a]
    const Tensor s = form.scores_of(z_of, w2, group);  // [R, d], scalar [R, I]; then its gradient
    AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "attention_pooling_backward", [&] {
      auto job = form.job<scalar_t>(group, h, offsets, s, v, norms);
      job.gradient = g.const_data_ptr<scalar_t>() + (form.scalar ? 0 : group * form.features);
      job.of_h = of_h.mutable_data_ptr<scalar_t>();
      pool(job, h);
    });
    form.of_group(of_w2, group).copy_(multiply(form.rows, s.t(), z_of.t()));
    Tensor of_z = multiply(form.rows, s, form.of_group(w2, group).t());  // [R, d_a]
    of_z = form.activation == Activation::relu ? at::threshold_backward(of_z, z_of, 0)
                                               : at::tanh_backward(of_z, z_of);
    form.of_group(of_b1, group).copy_(of_z.sum(0));
    form.of_group(of_w1, group).copy_(multiply(form.rows, of_z.t(), h.t()));
    of_h.add_(multiply(form.rows, of_z, form.of_group(w1, group).t()));
  }
  return {of_h, of_w1, of_b1, of_w2};
}

// What tensors without numbers show of themselves to torch.compile and its like.

Forward forward_shapes(const Tensor& h, const Tensor& offsets, const Tensor& w1, const MaybeTensor&,
                       const Tensor& w2, std::int64_t heads, std::string_view, std::string_view) {
  const c10::SymInt sentences = offsets.sym_size(0) - 1;
  return {h.new_empty_symint({sentences, h.sym_size(1) * heads}),
          h.new_empty_symint({h.sym_size(0), w1.sym_size(0)}),
          h.new_empty_symint({2, sentences, w2.sym_size(0)})};
}

Backward backward_shapes(const Tensor&, const Tensor& h, const Tensor&, const Tensor& w1, const Tensor& w2,
                         const Tensor&, const Tensor&, const Tensor&, std::int64_t, std::string_view,
                         std::string_view) {
  return {h.new_empty_symint(h.sym_sizes()), w1.new_empty_symint(w1.sym_sizes()),
          h.new_empty_symint({w1.sym_size(0)}), w2.new_empty_symint(w2.sym_sizes())};
}

class AttentionPoolingFunction : public torch::autograd::Function<AttentionPoolingFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& h,
                                                const Tensor& offsets, const Tensor& w1,
                                                const MaybeTensor& b1, const Tensor& w2, std::int64_t heads,
                                                std::string_view scores, std::string_view activation) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("sentencode::attention_pooling", "")
                               .typed<decltype(nn::forward)>();
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [v, z, norms] = op.call(h, offsets, w1, b1, w2, heads, scores, activation);
    context->save_for_backward({h, offsets, w1, w2, v, z, norms});
    context->mark_non_differentiable({z, norms});
    auto& saved = context->saved_data;
    saved["heads"] = heads;
    saved["scores"] = std::string(scores);
    saved["activation"] = std::string(activation);
    saved["biased"] = b1.has_value();
    return {v, z, norms};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("sentencode::attention_pooling_backward", "")
                               .typed<decltype(nn::backward)>();
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "attention_pooling cannot be differentiated twice (create_graph=True)");
    const auto saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const auto [of_h, of_w1, of_b1, of_w2] =
        op.call(gradients[0], saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6],
                data["heads"].toInt(), data["scores"].toStringView(), data["activation"].toStringView());
    return {of_h, {}, of_w1, data["biased"].toBool() ? of_b1 : Tensor(), of_w2, {}, {}, {}};
  }
};

Forward differentiable(const Tensor& h, const Tensor& offsets, const Tensor& w1, const MaybeTensor& b1,
                       const Tensor& w2, std::int64_t heads, std::string_view scores,
                       std::string_view activation) {
  const auto found = AttentionPoolingFunction::apply(h, offsets, w1, b1, w2, heads, scores, activation);
  return {found[0], found[1], found[2]};
}

}  // namespace

TORCH_LIBRARY(sentencode, m) {
  m.def(kSchema);
  m.def(kBackwardSchema);
}

TORCH_LIBRARY_IMPL(sentencode, CPU, m) {
  m.impl("attention_pooling", &forward);
  m.impl("attention_pooling_backward", &backward);
}

#ifdef SENTENCODE_HAVE_CUDA
TORCH_LIBRARY_IMPL(sentencode, CUDA, m) {
  m.impl("attention_pooling", &forward);
  m.impl("attention_pooling_backward", &backward);
}
#endif

TORCH_LIBRARY_IMPL(sentencode, Meta, m) {
  m.impl("attention_pooling", &forward_shapes);
  m.impl("attention_pooling_backward", &backward_shapes);
}

TORCH_LIBRARY_IMPL(sentencode, Autograd, m) { m.impl("attention_pooling", &differentiable); }

Tensor attention_pooling(const Tensor& h, const Tensor& offsets, const Tensor& w1, const Tensor& b1,
                         const Tensor& w2, const AttentionPoolingOptions& options) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("sentencode::attention_pooling", "")
                             .typed<decltype(forward)>();
  const auto bias = b1.defined() ? MaybeTensor(b1) : std::nullopt;
  return std::get<0>(op.call(h, offsets, w1, bias, w2, options.heads, scores_name(options.scores),
                             activation_name(options.activation)));
}

}  // namespace sentencode::nn
