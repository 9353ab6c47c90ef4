#include "nn/generalized_pooling_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/generalized_pooling_kernels.h"
#include "nn/product.h"
#include "nn/rows.h"
#include "sentencode/error.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Forward = std::tuple<Tensor, Tensor, Tensor, Tensor>;   // v, z, norms, kept scores
using Backward = std::tuple<Tensor, Tensor, Tensor, Tensor>;  // gradients of h, W1, b1, W2

constexpr const char* kSchema =
    "attention_pooling(Tensor h, Tensor? places, Tensor offsets, Tensor w1, Tensor? b1, Tensor w2, int "
    "heads, str scores, str activation, bool keep=False) -> (Tensor v, Tensor z, Tensor norms, Tensor kept)";
constexpr const char* kBackwardSchema =
    "attention_pooling_backward(Tensor g, Tensor h, Tensor? places, Tensor offsets, Tensor w1, Tensor w2, "
    "Tensor v, Tensor z, Tensor norms, Tensor kept, int heads, str scores, str activation) -> (Tensor, "
    "Tensor, Tensor, Tensor)";

/// Rows that are gone through at once on the CPU, or those of one sentence if it has more: what is computed
/// of them stays in the caches, and takes little memory.
constexpr std::int64_t kRows = 384;

MaybeTensor contiguous(const MaybeTensor& tensor) {
  return tensor ? MaybeTensor(tensor->contiguous()) : std::nullopt;
}
MaybeTensor maybe(const Tensor& tensor) { return tensor.defined() ? MaybeTensor(tensor) : std::nullopt; }

/// [P, d]
Tensor rows_of(const Tensor& h) {
  return h.dim() > 2
             ? h.contiguous().view({c10::multiply_integers(h.sizes().slice(0, h.dim() - 1)), h.size(-1)})
             : h.contiguous();
}

/// What is given, and how its parts lie. A group has one hidden layer: it is a head if scores are of
/// dimensions, and otherwise all heads.
struct Form {
  bool scalar;
  Activation activation;
  std::int64_t heads, groups, rows, features, hidden, scores;  // I, G, R, d, d_a, scores of a group and a row

  Form(const Tensor& h, const MaybeTensor& places, const Tensor& offsets, const Tensor& w1, const Tensor& w2,
       std::int64_t heads_given, std::string_view scores_given, std::string_view activation_given)
      : scalar(scores_given == "scalar"),
        activation(activation_given == "relu" ? Activation::relu : Activation::tanh),
        heads(heads_given) {
    TORCH_CHECK_VALUE(scalar || scores_given == "vector",
                      "attention_pooling: scores must be 'vector' or 'scalar', got '", scores_given, "'");
    TORCH_CHECK_VALUE(activation_given == "relu" || activation_given == "tanh",
                      "attention_pooling: activation must be 'relu' or 'tanh', got '", activation_given, "'");
    TORCH_CHECK_VALUE(
        h.dim() == 2 && h.size(1) >= 1 && (h.scalar_type() == at::kFloat || h.scalar_type() == at::kDouble),
        "attention_pooling: h must be float or double [..., features], got ", h.dtype(), " ", h.sizes());
    TORCH_CHECK_VALUE(heads >= 1, "attention_pooling: heads must be at least 1, got ", heads);
    groups = scalar ? 1 : heads;
    rows = places ? places->size(0) : h.size(0);
    features = h.size(1);
    scores = scalar ? heads : features;
    TORCH_CHECK_VALUE(w1.dim() == 2 && w1.size(0) >= 1 && w1.size(0) % groups == 0 &&
                          w1.size(1) == features && w1.scalar_type() == h.scalar_type() &&
                          w1.device() == h.device(),
                      "attention_pooling: w1 must be ", h.dtype(), " [", groups, " * hidden, ", features,
                      "] on ", h.device(), ", got ", w1.dtype(), " ", w1.sizes(), " on ", w1.device());
    hidden = w1.size(0) / groups;
    TORCH_CHECK_VALUE(w2.dim() == 2 && w2.size(0) == groups * scores && w2.size(1) == hidden &&
                          w2.scalar_type() == h.scalar_type() && w2.device() == h.device(),
                      "attention_pooling: w2 must be ", h.dtype(), " [", groups * scores, ", ", hidden,
                      "] on ", h.device(), ", got ", w2.dtype(), " ", w2.sizes(), " on ", w2.device());
    TORCH_CHECK_VALUE(!places || (places->dim() == 1 && places->scalar_type() == at::kLong &&
                                  places->device() == h.device()),
                      "attention_pooling: places must be int64 [rows] on ", h.device(), ", got ",
                      places->dtype(), " ", places->sizes(), " on ", places->device());
    TORCH_CHECK_VALUE(offsets.dim() == 1 && offsets.size(0) >= 1 && offsets.scalar_type() == at::kLong &&
                          offsets.device() == h.device(),
                      "attention_pooling: offsets must be int64 [sentences + 1] on ", h.device(), ", got ",
                      offsets.dtype(), " ", offsets.sizes(), " on ", offsets.device());
    const auto* const at = offsets.const_data_ptr<std::int64_t>();
    for (std::int64_t b = 0, last = 0; b < offsets.size(0); last = at[b++]) {
      TORCH_CHECK_VALUE(at[b] <= rows && (b == 0 ? at[b] == 0 : at[b] >= last),
                        "attention_pooling: offsets must rise from 0 to at most ", rows, ", got ", at[b],
                        " behind ", last);
    }
    if (!places) return;
    const auto* const place = places->const_data_ptr<std::int64_t>();
    std::vector<bool> taken(static_cast<std::size_t>(h.size(0)));
    for (std::int64_t row = 0; row < rows; ++row) {
      TORCH_CHECK_VALUE(place[row] >= 0 && place[row] < h.size(0),
                        "attention_pooling: places must be from 0 to ", h.size(0) - 1, ", got ", place[row]);
      auto is_taken = taken[static_cast<std::size_t>(place[row])];
      TORCH_CHECK_VALUE(!is_taken, "attention_pooling: places must differ, got ", place[row], " twice");
      is_taken = true;
    }
  }

  /// What forward has returned must come back as it was.
  static void check(const char* name, const Tensor& found, at::IntArrayRef shape, const Tensor& h) {
    TORCH_CHECK_VALUE(
        found.sizes() == shape && found.scalar_type() == h.scalar_type() && found.device() == h.device(),
        "attention_pooling_backward: ", name, " must be ", h.dtype(), " ", shape, " on ", h.device(),
        ", got ", found.dtype(), " ", found.sizes(), " on ", found.device());
  }

  /// Of the scores that forward keeps for backward.
  std::vector<std::int64_t> kept(bool keep) const {
    if (!keep) return {0, 0, 0};
    return {groups, rows, scores};
  }
  Tensor of_group(const Tensor& weights, std::int64_t group) const {  // its rows
    const std::int64_t n = weights.size(0) / groups;
    return weights.narrow(0, group * n, n);
  }
  Tensor hidden_of(const Tensor& z, std::int64_t group) const {  // [n, d_a]
    return z.narrow(1, group * hidden, hidden);
  }
  /// Of the hidden layer, or of its gradient before f, a ReLU makes many numbers zero.
  Placed with_zeros(const Tensor& hidden_layer) const {
    Placed matrix = hidden_layer;
    matrix.zeros = activation == Activation::relu;
    return matrix;
  }
};

/// Some sentences that follow each other, and their rows, of which there is at least one.
struct Piece {
  std::int64_t first, sentences, row, rows;
  Tensor offsets;  // [sentences + 1], of these rows

  Tensor of(const Tensor& tensor) const { return tensor.narrow(0, row, rows); }

  /// Its rows of `tensor`, where they lie.
  Placed of(const Tensor& tensor, const MaybeTensor& places) const {
    return places ? Placed(tensor, of(*places)) : Placed(of(tensor));
  }
};

std::vector<Piece> pieces_of(const Form& form, const Tensor& offsets) {
  const std::int64_t sentences = offsets.size(0) - 1;
  if (form.rows == 0) return {};
  const auto* const at = offsets.const_data_ptr<std::int64_t>();
  std::vector<Piece> found;
  for (std::int64_t first = 0; first < sentences;) {
    std::int64_t end = first + 1;
    while (end < sentences && at[end + 1] - at[first] <= kRows) ++end;
    if (at[end] > at[first]) {
      const Tensor own = at::empty({end - first + 1}, offsets.options());
      std::transform(at + first, at + end + 1, own.mutable_data_ptr<std::int64_t>(),
                     [&](std::int64_t row) { return row - at[first]; });
      found.push_back({first, end - first, at[first], at[end] - at[first], own});
    }
    first = end;
  }
  return found;
}

/// Memory for any of the pieces, [rows, width].
class Buffers {
 public:
  Buffers(const std::vector<Piece>& pieces, const Tensor& like) : options_(like.options()) {
    for (const Piece& piece : pieces) rows_ = std::max(rows_, piece.rows);
  }
  Tensor operator()(std::int64_t width) const { return at::empty({rows_, width}, options_); }

 private:
  at::TensorOptions options_;
  std::int64_t rows_ = 0;
};

/// Of sentences without words; the others are written.
void zero_without_words(const Tensor& v, const Tensor& offsets) {
  const auto* const at = offsets.const_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < v.size(0); ++b) {
    if (at[b] == at[b + 1]) v[b].zero_();
  }
}

template <typename T>
PoolingJob<T> job_of(const Form& form, const Piece& piece, std::int64_t group, const Placed& h,
                     const Tensor& s, const Tensor& v, const Tensor& norms) {
  T* const norm = norms.mutable_data_ptr<T>() + piece.first * norms.size(2) + group * form.scores;
  return {
      .sentences = piece.sentences,
      .rows = piece.rows,
      .features = form.features,
      .heads = form.heads / form.groups,
      .scalar = form.scalar,
      .offsets = piece.offsets.const_data_ptr<std::int64_t>(),
      .places = h.places_or_null(),
      .h = h.tensor.const_data_ptr<T>(),
      .scores = s.mutable_data_ptr<T>(),
      .most = norm,
      .sums = norm + norms.size(1) * norms.size(2),
      .pooled = v.mutable_data_ptr<T>() + piece.first * v.size(1) + (form.scalar ? 0 : group * form.features),
      .norm_stride = norms.size(2),
      .stride = v.size(1)};
}

template <typename T>
void pool(const PoolingJob<T>& job) {
  job.of_h == nullptr ? pool_on_cpu(job) : pool_backward_on_cpu(job);
}

/// From the gradients of scores to those of W2 (its first part, or what is added to it), and of z.
void score_backward(const Form& form, std::int64_t group, const Tensor& z, const Tensor& w2,
                    const Tensor& of_s, const Tensor& of_w2, const Tensor& of_z, bool first) {
  if (form.scalar) return;  // hidden_backward does it
  const Tensor of_group = form.of_group(of_w2, group), hidden = form.hidden_of(z, group);
  first ? multiply(of_group, of_s.t(), hidden) : add_product(of_group, of_s.t(), hidden);
  multiply(form.hidden_of(of_z, group), of_s, form.of_group(w2, group));
}

/// From the gradient of z, or of scalar scores, to that of what z is f of, and of b1.
void hidden_backward(const Form& form, const Tensor& z, const Tensor& w2, const Tensor& of_s,
                     const Tensor& of_w2, const Tensor& of_z, const Tensor& of_b1) {
  AT_DISPATCH_FLOATING_TYPES(z.scalar_type(), "attention_pooling_backward", [&] {
    HiddenJob<scalar_t> job{.relu = form.activation == Activation::relu,
                            .rows = z.size(0),
                            .width = z.size(1),
                            .heads = form.heads,
                            .z = z.const_data_ptr<scalar_t>(),
                            .gradient = of_z.mutable_data_ptr<scalar_t>(),
                            .of_bias = of_b1.mutable_data_ptr<scalar_t>()};
    if (form.scalar) {
      job.w = w2.const_data_ptr<scalar_t>();
      job.of_scores = of_s.const_data_ptr<scalar_t>();
      job.of_w = of_w2.mutable_data_ptr<scalar_t>();
    }
    hidden_backward_on_cpu(job);
  });
}

Forward forward(const Tensor& h_given, const MaybeTensor& places_given, const Tensor& offsets_given,
                const Tensor& w1_given, const MaybeTensor& b1, const Tensor& w2_given, std::int64_t heads,
                std::string_view scores, std::string_view activation, bool keep) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor h = rows_of(h_given), offsets = offsets_given.contiguous();
  const Tensor w1 = w1_given.contiguous(), w2 = w2_given.contiguous();
  const MaybeTensor places = contiguous(places_given);
  const Form form(h, places, offsets, w1, w2, heads, scores, activation);
  TORCH_CHECK_VALUE(!b1 || (b1->dim() == 1 && b1->size(0) == w1.size(0) &&
                            b1->scalar_type() == h.scalar_type() && b1->device() == h.device()),
                    "attention_pooling: b1 must be ", h.dtype(), " [", w1.size(0), "] on ", h.device(),
                    ", got ", b1->dtype(), " ", b1->sizes(), " on ", b1->device());
  const std::int64_t sentences = offsets.size(0) - 1, norms_of = form.groups * form.scores;
  const std::vector<Piece> pieces = pieces_of(form, offsets);
  const Buffers buffer(pieces, h);
  const Tensor z = at::empty({keep ? form.rows : 0, w1.size(0)}, h.options());  // [R, G d_a], or nothing
  const Tensor v = at::empty({sentences, heads * form.features}, h.options());  // [B, I d]
  const Tensor norms = at::zeros({2, sentences, norms_of}, h.options());  // [2, B, I d], scalar [2, B, I]
  zero_without_words(v, offsets);
  const Tensor kept = at::empty(form.kept(keep), h.options());  // [I, R, d], scalar [1, R, I], or nothing
  const Tensor hidden = keep ? Tensor() : buffer(w1.size(0));
  const Tensor scored = keep && !form.scalar ? Tensor() : buffer(form.scores);
  for (const Piece& piece : pieces) {
    const Placed rows = piece.of(h, places);                                  // [n, d]
    const Tensor own = keep ? piece.of(z) : hidden.narrow(0, 0, piece.rows);  // [n, G d_a]
    multiply(own, rows, w1.t(), b1.value_or(Tensor()), form.activation);
    for (std::int64_t group = 0; group < form.groups; ++group) {
      const Tensor s = keep ? piece.of(kept[group]) : scored.narrow(0, 0, piece.rows);  // [n, d or I]
      multiply(s, form.with_zeros(form.hidden_of(own, group)), form.of_group(w2, group).t());
      AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "attention_pooling", [&] {
        auto job = job_of<scalar_t>(form, piece, group, rows, s, v, norms);
        if (form.scalar) job.of_scores = scored.mutable_data_ptr<scalar_t>();
        pool(job);
      });
    }
  }
  return {v, z, norms, kept};
}

Backward backward(const Tensor& g_given, const Tensor& h_given, const MaybeTensor& places_given,
                  const Tensor& offsets_given, const Tensor& w1_given, const Tensor& w2_given,
                  const Tensor& v_given, const Tensor& z_given, const Tensor& norms_given,
                  const Tensor& kept_given, std::int64_t heads, std::string_view scores,
                  std::string_view activation) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor g = g_given.contiguous(), h = rows_of(h_given), offsets = offsets_given.contiguous();
  const Tensor w1 = w1_given.contiguous(), w2 = w2_given.contiguous();
  const Tensor v = v_given.contiguous(), z = z_given.contiguous(), norms = norms_given.contiguous();
  const Tensor kept = kept_given.contiguous();
  const MaybeTensor places = contiguous(places_given);
  const Form form(h, places, offsets, w1, w2, heads, scores, activation);
  const std::int64_t sentences = offsets.size(0) - 1;
  form.check("g", g, {sentences, heads * form.features}, h);
  form.check("v", v, {sentences, heads * form.features}, h);
  form.check("z", z, {form.rows, w1.size(0)}, h);
  form.check("norms", norms, {2, sentences, form.groups * form.scores}, h);
  form.check("kept", kept, form.kept(true), h);
  const std::vector<Piece> pieces = pieces_of(form, offsets);
  const Buffers buffer(pieces, h);
  const auto begun = [&](const Tensor& like) {  // the first piece writes, others add
    return pieces.empty() ? at::zeros_like(like, at::MemoryFormat::Contiguous)
                          : at::empty_like(like, at::MemoryFormat::Contiguous);
  };
  const Tensor of_w1 = begun(w1);
  const Tensor of_w2 = form.scalar ? at::zeros_like(w2, at::MemoryFormat::Contiguous) : begun(w2);
  const Tensor of_h = at::empty_like(h);  // [P, d]
  const std::int64_t last = pieces.empty() ? 0 : pieces.back().row + pieces.back().rows;
  zero_other_rows(of_h, places ? places->narrow(0, 0, last) : at::arange(last, offsets.options()));
  const Tensor of_b1 = h.new_zeros({w1.size(0)});
  const Tensor hidden = buffer(w1.size(0)), scored = buffer(form.scores);
  for (const Piece& piece : pieces) {
    const bool first = piece.row == 0;
    const Placed rows = piece.of(h, places);              // [n, d]
    const Placed of_rows = piece.of(of_h, places);        // [n, d]
    const Tensor own = piece.of(z);                       // [n, G d_a]
    const Tensor of_z = hidden.narrow(0, 0, piece.rows);  // [n, G d_a]
    const Tensor of_s = scored.narrow(0, 0, piece.rows);  // [n, d], scalar [n, I]
    for (std::int64_t group = 0; group < form.groups; ++group) {
      const Tensor s = piece.of(kept[group]);
      AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "attention_pooling_backward", [&] {
        auto job = job_of<scalar_t>(form, piece, group, rows, s, v, norms);
        job.gradient = g.const_data_ptr<scalar_t>() + piece.first * g.size(1) +
                       (form.scalar ? 0 : group * form.features);
        job.of_scores = of_s.mutable_data_ptr<scalar_t>();
        job.of_h = of_rows.tensor.mutable_data_ptr<scalar_t>();
        job.first = group == 0;
        pool(job);
      });
      score_backward(form, group, own, w2, of_s, of_w2, of_z, first);
    }
    hidden_backward(form, own, w2, of_s, of_w2, of_z, of_b1);
    const Placed turned = form.with_zeros(of_z.t());
    first ? multiply(of_w1, turned, rows) : add_product(of_w1, turned, rows);
    add_product(of_rows, form.with_zeros(of_z), w1);
  }
  return {of_h.view(h_given.sizes()), of_w1, of_b1, of_w2};
}

// What tensors without numbers show of themselves to torch.compile and its like.

Forward forward_shapes(const Tensor& h, const MaybeTensor& places, const Tensor& offsets, const Tensor& w1,
                       const MaybeTensor&, const Tensor& w2, std::int64_t heads, std::string_view scores,
                       std::string_view, bool keep) {
  const c10::SymInt sentences = offsets.sym_size(0) - 1;
  const c10::SymInt rows = !keep    ? c10::SymInt(0)
                           : places ? places->sym_size(0)
                                    : h.sym_numel() / h.sym_size(-1);
  const Tensor kept = !keep                ? h.new_empty_symint({0, 0, 0})
                      : scores == "vector" ? h.new_empty_symint({heads, rows, h.sym_size(-1)})
                                           : h.new_empty_symint({1, rows, heads});
  return {h.new_empty_symint({sentences, h.sym_size(-1) * heads}), h.new_empty_symint({rows, w1.sym_size(0)}),
          h.new_empty_symint({2, sentences, w2.sym_size(0)}), kept};
}

Backward backward_shapes(const Tensor&, const Tensor& h, const MaybeTensor&, const Tensor&, const Tensor& w1,
                         const Tensor& w2, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                         std::int64_t, std::string_view, std::string_view) {
  return {h.new_empty_symint(h.sym_sizes()), w1.new_empty_symint(w1.sym_sizes()),
          h.new_empty_symint({w1.sym_size(0)}), w2.new_empty_symint(w2.sym_sizes())};
}

class AttentionPoolingFunction : public torch::autograd::Function<AttentionPoolingFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& h,
                                                const MaybeTensor& places, const Tensor& offsets,
                                                const Tensor& w1, const MaybeTensor& b1, const Tensor& w2,
                                                std::int64_t heads, std::string_view scores,
                                                std::string_view activation, bool keep) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("sentencode::attention_pooling", "")
                               .typed<decltype(nn::forward)>();
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [v, z, norms, kept] = op.call(h, places, offsets, w1, b1, w2, heads, scores, activation, keep);
    context->save_for_backward({h, places.value_or(Tensor()), offsets, w1, w2, v, z, norms, kept});
    context->mark_non_differentiable({z, norms, kept});
    context->set_materialize_grads(false);  // of these, zeros as large as they are
    auto& saved = context->saved_data;
    saved["heads"] = heads;
    saved["scores"] = std::string(scores);
    saved["activation"] = std::string(activation);
    saved["biased"] = b1.has_value();
    return {v, z, norms, kept};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("sentencode::attention_pooling_backward", "")
                               .typed<decltype(nn::backward)>();
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "attention_pooling cannot be differentiated twice (create_graph=True)");
    if (!gradients[0].defined()) return torch::autograd::variable_list(10);
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const auto [of_h, of_w1, of_b1, of_w2] = op.call(
        gradients[0], saved[0], maybe(saved[1]), saved[2], saved[3], saved[4], saved[5], saved[6], saved[7],
        saved[8], data["heads"].toInt(), data["scores"].toStringView(), data["activation"].toStringView());
    return {of_h, {}, {}, of_w1, data["biased"].toBool() ? of_b1 : Tensor(), of_w2, {}, {}, {}, {}};
  }
};

Forward differentiable(const Tensor& h, const MaybeTensor& places, const Tensor& offsets, const Tensor& w1,
                       const MaybeTensor& b1, const Tensor& w2, std::int64_t heads, std::string_view scores,
                       std::string_view activation, bool keep) {
  const auto learns = [](const Tensor& tensor) { return tensor.requires_grad(); };
  keep =
      keep || (at::GradMode::is_enabled() && (learns(h) || learns(w1) || (b1 && learns(*b1)) || learns(w2)));
  const auto found =
      AttentionPoolingFunction::apply(h, places, offsets, w1, b1, w2, heads, scores, activation, keep);
  return {found[0], found[1], found[2], found[3]};
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

TORCH_LIBRARY_IMPL(sentencode, Meta, m) {
  m.impl("attention_pooling", &forward_shapes);
  m.impl("attention_pooling_backward", &backward_shapes);
}

TORCH_LIBRARY_IMPL(sentencode, Autograd, m) { m.impl("attention_pooling", &differentiable); }

Tensor attention_pooling(const Tensor& h, const Tensor& places, const Tensor& offsets, const Tensor& w1,
                         const Tensor& b1, const Tensor& w2, const AttentionPoolingOptions& options) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("sentencode::attention_pooling", "")
                             .typed<decltype(forward)>();
  return std::get<0>(op.call(h, maybe(places), offsets, w1, maybe(b1), w2, options.heads,
                             scores_name(options.scores), activation_name(options.activation),
                             /*keep=*/false));
}

}  // namespace sentencode::nn
