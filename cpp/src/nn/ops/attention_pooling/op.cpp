#include "nn/ops/attention_pooling/op.h"

#include <torch/library.h>

#include "nn/checks.h"
#include "nn/ops/dispatch.h"

namespace sentencode::nn {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

namespace attention_pooling_op {

Sizes::Sizes(const Tensor& h, const Tensor& offsets, const Tensor& w1, const MaybeTensor& b1,
             const Tensor& w2, std::int64_t heads_, std::string_view scores_, std::string_view activation)
    : scalar(scores_ == "scalar"), relu(activation == "relu"), heads(heads_) {
  TORCH_CHECK_VALUE(scalar || scores_ == "vector",
                    "attention_pooling: scores must be 'vector' or 'scalar', got '", scores_, "'");
  TORCH_CHECK_VALUE(relu || activation == "tanh",
                    "attention_pooling: activation must be 'relu' or 'tanh', got '", activation, "'");
  TORCH_CHECK_VALUE(heads >= 1, "attention_pooling: heads must be at least 1, got ", heads);
  check_tensor("attention_pooling: h", h, Type::float_or_double, {"words", "features"});
  groups = scalar ? 1 : heads;
  words = h.size(0);
  features = h.size(1);
  scores = scalar ? heads : features;
  check_tensor("attention_pooling: w1", w1, h, {"heads * hidden", features});
  hidden = w1.size(0) / groups;
  TORCH_CHECK_VALUE(features >= 1 && hidden >= 1 && w1.size(0) == groups * hidden,
                    "attention_pooling: w1 must have a positive multiple of ", groups,
                    " rows and at least 1 column, got ", w1.sizes());
  if (b1) check_tensor("attention_pooling: b1", *b1, h, {w1.size(0)});
  check_tensor("attention_pooling: w2", w2, h, {groups * scores, hidden});
  check_tensor("attention_pooling: offsets", offsets, Type::int64, {"sentences + 1"}, h.device());
  const Tensor contiguous = offsets.contiguous();
  const auto* const offset = contiguous.const_data_ptr<std::int64_t>();
  sentences = offsets.size(0) - 1;
  bool ascending = sentences >= 0 && offset[0] == 0 && offset[sentences] == words;
  for (std::int64_t b = 0; ascending && b < sentences; ++b) ascending = offset[b] <= offset[b + 1];
  TORCH_CHECK_VALUE(ascending, "attention_pooling: offsets must ascend from 0 to ", words, ", got ", offsets);
}

void Sizes::check_backward(const Tensor& grad_v, const Tensor& h, const Tensor& v, const Tensor& z,
                           const Tensor& norms, const Tensor& s) const {
  check_tensor("attention_pooling_backward: grad_v", grad_v, h, {sentences, heads * features});
  check_tensor("attention_pooling_backward: v", v, h, {sentences, heads * features});
  check_tensor("attention_pooling_backward: z", z, h, {words, groups * hidden});
  check_tensor("attention_pooling_backward: norms", norms, h, {2, sentences, groups * scores});
  check_tensor("attention_pooling_backward: s", s, h, {groups, words, scores});
}

namespace {

// Shapes for torch.compile.

Outputs forward_shapes(const Tensor& h, const Tensor& offsets, const Tensor& w1, const MaybeTensor&,
                       const Tensor& w2, std::int64_t heads, std::string_view scores, std::string_view,
                       bool keep) {
  const c10::SymInt words = keep ? h.sym_size(0) : 0, sentences = offsets.sym_size(0) - 1;
  const bool vector = scores == "vector";
  return {h.new_empty_symint({sentences, h.sym_size(1) * heads}), h.new_empty_symint({words, w1.sym_size(0)}),
          h.new_empty_symint({2, sentences, w2.sym_size(0)}),
          h.new_empty_symint({vector ? heads : 1, words, vector ? h.sym_size(1) : heads})};
}

Gradients backward_shapes(const Tensor&, const Tensor& h, const Tensor&, const Tensor& w1, const Tensor& w2,
                          const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::int64_t,
                          std::string_view, std::string_view) {
  return {h.new_empty_symint(h.sym_sizes()), w1.new_empty_symint(w1.sym_sizes()),
          h.new_empty_symint({w1.sym_size(0)}), w2.new_empty_symint(w2.sym_sizes())};
}

}  // namespace

TORCH_LIBRARY(sentencode, m) {
  m.def(
      "attention_pooling(Tensor h, Tensor offsets, Tensor w1, Tensor? b1, Tensor w2, int heads, str scores, "
      "str activation, bool keep=False) -> (Tensor v, Tensor z, Tensor norms, Tensor s)");
  m.def(
      "attention_pooling_backward(Tensor grad_v, Tensor h, Tensor offsets, Tensor w1, Tensor w2, Tensor v, "
      "Tensor z, Tensor norms, Tensor s, int heads, str scores, str activation) -> (Tensor, Tensor, Tensor, "
      "Tensor)");
}

TORCH_LIBRARY_IMPL(sentencode, Autograd, m) { m.impl("attention_pooling", &differentiable); }

TORCH_LIBRARY_IMPL(sentencode, CPU, m) {
  m.impl("attention_pooling", &forward_cpu);
  m.impl("attention_pooling_backward", &backward_cpu);
}

TORCH_LIBRARY_IMPL(sentencode, Meta, m) {
  m.impl("attention_pooling", &forward_shapes);
  m.impl("attention_pooling_backward", &backward_shapes);
}

}  // namespace attention_pooling_op

Tensor attention_pooling(const Tensor& h, const Tensor& offsets, const Tensor& w1, const Tensor& b1,
                         const Tensor& w2, const AttentionPoolingOptions& options) {
  static const auto op = find_op<attention_pooling_op::Forward>("sentencode::attention_pooling");
  const MaybeTensor bias = b1.defined() ? MaybeTensor(b1) : std::nullopt;
  return std::get<0>(op.call(h, offsets, w1, bias, w2, options.heads, name_of(options.scores),
                             name_of(options.activation), /*keep=*/false));
}

}  // namespace sentencode::nn
