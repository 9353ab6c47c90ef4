#include "sentencode/nn/softmax_loss.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include "nn/parameters.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/sparse_rows.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

// Of one chunk's logits. Smaller ones stay in a cache; larger ones touch W and its gradient less often.
constexpr std::int64_t kBytesOnCpu = std::int64_t{12} << 20;
constexpr std::int64_t kBytesOnGpu = std::int64_t{256} << 20;
// A GPU multiplies half precision fast only if each row begins at a multiple of 16 bytes; these are 128.
constexpr std::int64_t kAligned = 64;
constexpr double kNever = -std::numeric_limits<double>::infinity();  // the logit of a word that is not there

bool is_half(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

/// What the products are computed in: h's own type, or autocast's.
at::ScalarType product_type(const Tensor& h) {
  const auto device = h.device().type();
  if (h.scalar_type() != at::kDouble && at::autocast::is_autocast_enabled(device)) {
    return at::autocast::get_autocast_dtype(device);
  }
  return h.scalar_type();
}

std::int64_t rows_of_chunk(const Tensor& h, std::int64_t words, at::ScalarType sums, std::int64_t asked) {
  const std::int64_t rows = std::max<std::int64_t>(h.size(0), 1);
  if (asked > 0) return std::min(asked, rows);
  const std::int64_t bytes = h.is_cpu() ? kBytesOnCpu : kBytesOnGpu;
  const std::int64_t most =
      std::max<std::int64_t>(16, bytes / (words * static_cast<std::int64_t>(c10::elementSize(sums))));
  const std::int64_t chunks = (rows + most - 1) / most;
  return (rows + chunks - 1) / chunks;  // equal ones
}

/// Which gradients are wanted.
struct Wanted {
  bool h, weight, b;
};

/// Adds up over chunks, in `sums`, what softmax_loss returns and the gradients of its sum.
class Chunks {
 public:
  Chunks(const Tensor& h, const Tensor& weight, const Tensor& b, at::ScalarType products, Wanted wanted,
         double e)
      : products_(products),
        sums_(is_half(products) ? at::kFloat : products),
        wanted_(wanted),
        e_(e),
        words_(weight.size(0)),
        h_(h.to(products)),
        weight_(weight.to(products)),
        b_(b.defined() ? b.to(sums_) : Tensor()) {
    const auto options = h.options().dtype(sums_).requires_grad(false);
    loss = at::zeros({}, options);
    correct = at::zeros({}, options.dtype(at::kLong));
    nll = at::empty({h.size(0)}, options);                 // [N]
    if (wanted.h) grad_h = at::empty(h.sizes(), options);  // [N, D]
    if (e > 0) {
      // The mean logit is h's product with the mean row of W: no pass over the logits.
      mean_weight_ = weight_.mean(0, /*keepdim=*/false, sums_);  // [D]
      if (b_.defined()) mean_b_ = b_.mean();                     // []
    }
    if (products_ != sums_ && !h.is_cpu() && words_ % kAligned != 0) align();
    if (wanted.weight) grad_weight = at::empty(weight_.sizes(), options);  // [V, D]
    if (wanted.b) grad_b = at::zeros({weight_.size(0)}, options);          // [V]
  }

  void run(const Tensor& targets, const Tensor& weights, std::int64_t rows) {
    const std::int64_t all = h_.size(0), words = weight_.size(0);
    const Tensor buffer = at::empty({rows, words}, loss.options());
    one_chunk_ = e_ == 0 && all > 0 && rows >= all;
    if (wanted_.weight && !one_chunk_) begin_grad_weight(weights);
    for (std::int64_t begin = 0; begin < all; begin += rows) {
      const std::int64_t end = std::min(all, begin + rows);
      add(begin, end, targets.slice(0, begin, end), weights.slice(0, begin, end),
          buffer.slice(0, 0, end - begin));
    }
    if (more_ > 0 && wanted_.weight) grad_weight = grad_weight.narrow(0, 0, words_);
    if (more_ > 0 && wanted_.b) grad_b = grad_b.narrow(0, 0, words_);
    if (wanted_.b && e_ > 0) grad_b.sub_(weights.sum() * (e_ / static_cast<double>(words_)));
  }

  Tensor loss, correct, nll, grad_h, grad_weight, grad_b;

 private:
  /// Adds words that get no probability, so that V is a multiple of kAligned.
  void align() {
    more_ = kAligned - words_ % kAligned;
    weight_ = at::constant_pad_nd(weight_, {0, 0, 0, more_});
    if (b_.defined()) b_ = at::constant_pad_nd(b_, {0, more_}, kNever);
  }

  /// to = a b; half precision's sums are `sums_` throughout where a device can: cuBLAS does, a CPU rounds
  /// them.
  void multiply(const Tensor& a, const Tensor& b, const Tensor& to) const {
    if (products_ == sums_) {
      at::mm_out(const_cast<Tensor&>(to), a, b);
    } else if (a.is_cpu()) {
      to.copy_(at::mm(a, b));
    } else {
      at::mm_out(const_cast<Tensor&>(to), a, b, sums_);
    }
  }

  /// z = h W^T + b
  void logits(const Tensor& h, const Tensor& z) const {
    if (products_ != sums_) {
      multiply(h, weight_.t(), z);
      if (b_.defined()) {
        z.add_(b_);
      } else if (more_ > 0) {
        z.narrow(1, words_, more_).fill_(kNever);
      }
    } else if (b_.defined()) {
      at::addmm_out(const_cast<Tensor&>(z), b_, h, weight_.t());
    } else {
      at::mm_out(const_cast<Tensor&>(z), h, weight_.t());
    }
  }

  /// What smoothing takes from every word alike: -(e / V) sum of w h, the same row for each.
  void begin_grad_weight(const Tensor& weights) {
    if (e_ == 0) {
      grad_weight.zero_();
      return;
    }
    const Tensor row = at::mv(h_.t().to(sums_), weights) * (-e_ / static_cast<double>(words_));  // [D]
    grad_weight.copy_(row.expand_as(grad_weight));
  }

  void add(std::int64_t begin, std::int64_t end, const Tensor& targets, const Tensor& weights,
           const Tensor& z) {
    const Tensor h = h_.slice(0, begin, end);      // [R, D]
    const Tensor target = targets.unsqueeze(1);    // [R, 1]
    const Tensor share = weights.unsqueeze(1);     // [R, 1]
    logits(h, z);                                  // [R, V]
    const Tensor at_target = z.gather(1, target);  // [R, 1]
    Tensor p = z;                                  // [R, V], of `norm`
    Tensor own, norm;                              // [R], [R, 1]
    if (z.is_cpu()) {
      const Tensor top = z.amax(1, /*keepdim=*/true);  // [R, 1]
      correct.add_(at_target.eq(top).logical_and_(share != 0).sum());
      z.sub_(top).exp_();
      norm = z.sum(1, /*keepdim=*/true);                    // [R, 1]
      own = (norm.log().add_(top) - at_target).squeeze(1);  // [R]
    } else {                                                // one kernel goes over the row instead of four
      p = at::_log_softmax(z, 1, /*half_to_float=*/false);
      const Tensor log_p = p.gather(1, target);  // [R, 1]
      correct.add_(log_p.eq(p.amax(1, /*keepdim=*/true)).logical_and_(share != 0).sum());
      own = -log_p.squeeze(1);
    }
    nll.slice(0, begin, end).copy_(own);
    Tensor smoothed = own;
    if (e_ > 0) {
      Tensor mean = at::mv(h.to(sums_), mean_weight_);  // [R]
      if (mean_b_.defined()) mean = mean + mean_b_;
      smoothed = own + e_ * (at_target.squeeze(1) - mean);
    }
    loss.add_(at::dot(weights, smoothed));

    // w (p - (1 - e) target - e / V): what is the same for a whole row goes to the narrow side of each
    // product.
    if (!wanted_.h && !wanted_.weight && !wanted_.b) return;
    const bool same = products_ == sums_;
    if (!z.is_cpu()) {
      p.exp_();
      p.scatter_add_(1, target, at::full_like(at_target, e_ - 1));
    } else {
      p.scatter_add_(1, target, norm * (e_ - 1));
      if (!same) p.div_(norm);
    }
    const Tensor scale = same && norm.defined() ? share / norm : share;  // [R, 1]
    const Tensor wide = p.to(products_);                                 // [R, V]
    if (wanted_.h) {
      Tensor grad = grad_h.slice(0, begin, end);  // [R, D]
      multiply(wide, weight_, grad);
      grad.mul_(scale);
      if (e_ > 0) grad.sub_(share * (e_ * mean_weight_));
    }
    if (wanted_.weight) {
      const Tensor scaled = (h * scale).to(products_);  // [R, D]
      if (one_chunk_) {
        multiply(wide.t(), scaled, grad_weight);
      } else if (same) {
        grad_weight.addmm_(wide.t(), scaled);
      } else if (z.is_cpu()) {
        grad_weight.add_(at::mm(wide.t(), scaled));
      } else {
        at::addmm_out(grad_weight, grad_weight, wide.t(), scaled, sums_);
      }
    }
    if (wanted_.b) grad_b.addmv_(p.t(), scale.squeeze(1));
  }

  at::ScalarType products_, sums_;
  Wanted wanted_;
  double e_;
  std::int64_t words_, more_ = 0;  // V, and how many words alignment adds
  bool one_chunk_ = false;         // and nothing to begin with: the gradient of W is one product
  Tensor h_, weight_, b_;          // [N, D], [V, D], [V]
  Tensor mean_weight_, mean_b_;    // [D], []
};

class SoftmaxLossFunction : public torch::autograd::Function<SoftmaxLossFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& h,
                                                const Tensor& weight, const std::optional<Tensor>& bias,
                                                const Tensor& targets, const Tensor& weights,
                                                at::ScalarType products, bool grad_mode, double e,
                                                std::int64_t chunk_rows) {
    // Types are ours to choose here, product by product.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Tensor b = bias.value_or(Tensor());
    const Wanted wanted{grad_mode && h.requires_grad(), grad_mode && weight.requires_grad(),
                        grad_mode && b.defined() && b.requires_grad()};
    Chunks chunks(h, weight, b, products, wanted, e);
    chunks.run(targets, weights, chunk_rows);
    context->set_materialize_grads(false);
    context->mark_non_differentiable({chunks.nll, chunks.correct});
    auto& saved = context->saved_data;
    if (wanted.h) saved["h"] = chunks.grad_h.to(h.scalar_type());
    if (wanted.weight) saved["weight"] = chunks.grad_weight.to(weight.scalar_type());
    if (wanted.b) saved["b"] = chunks.grad_b.to(b.scalar_type());
    return {chunks.loss, chunks.nll, chunks.correct};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "softmax_loss cannot be differentiated twice (create_graph=True)");
    torch::autograd::variable_list result(9);
    const Tensor& grad = grads[0];  // []
    if (!grad.defined()) return result;
    // The engine may then take the gradient of W as it is: no second one of its size.
    const bool keep = torch::autograd::get_current_graph_task_keep_graph();
    auto& saved = context->saved_data;
    TORCH_CHECK(!saved.empty(),
                "softmax_loss: backward a second time needs retain_graph=True the first time");
    const char* const names[] = {"h", "weight", "b"};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto found = saved.find(names[i]);
      if (found == saved.end()) continue;
      if (keep) {
        const Tensor held = found->second.toTensor();
        result[i] = held * grad.to(held.scalar_type());
      } else {
        result[i] = std::move(found->second).toTensor();
        // On a GPU asking for the number would wait for it.
        if (!grad.is_cpu() || grad.item<double>() != 1) result[i].mul_(grad);
      }
    }
    if (!keep) saved.clear();
    return result;
  }
};

/// h, targets and weights of the rows that count, one after the other.
struct Rows {
  Tensor h;        // [N, D]
  Tensor targets;  // [N], of words
  Tensor weights;  // [N]; summing to 1 for the mean
  Tensor kept;     // [N] of the places they had, undefined if all are there
  Tensor tokens;   // []
};

void check(const char* name, const Tensor& h, const Tensor& weight, const Tensor& b, const Tensor& targets,
           const Tensor& row_weights) {
  TORCH_CHECK_VALUE(h.dim() >= 1 && h.is_floating_point(), name,
                    ": h must be floating point [..., features], got ", h.dtype(), " ", h.sizes());
  const std::int64_t features = h.size(-1);
  TORCH_CHECK_VALUE(weight.dim() == 2 && weight.size(0) >= 1 && weight.size(1) == features, name,
                    ": weight must be [words, ", features, "], got ", weight.sizes());
  TORCH_CHECK_VALUE(product_type(h) != h.scalar_type() ||
                        at::autocast::is_autocast_enabled(h.device().type()) ||
                        weight.scalar_type() == h.scalar_type(),
                    name, ": weight must have the type of h, ", h.dtype(), ", got ", weight.dtype());
  TORCH_CHECK_VALUE(!b.defined() || (b.dim() == 1 && b.size(0) == weight.size(0)), name, ": bias must be [",
                    weight.size(0), "], got ", b.defined() ? b.sizes() : at::IntArrayRef());
  const auto shape = h.sizes().slice(0, static_cast<std::size_t>(h.dim() - 1));
  TORCH_CHECK_VALUE(targets.scalar_type() == at::kLong && targets.sizes() == shape, name,
                    ": targets must be int64 ", shape, ", got ", targets.dtype(), " ", targets.sizes());
  if (row_weights.defined()) {
    TORCH_CHECK_VALUE(row_weights.sizes() == shape &&
                          (row_weights.scalar_type() == at::kBool || row_weights.is_floating_point()) &&
                          !row_weights.requires_grad(),
                      name, ": row_weights must be bool or floating point ", shape,
                      " without a gradient, got ", row_weights.dtype(), " ", row_weights.sizes());
  }
}

Rows rows_that_count(const char* name, const Tensor& h, const Tensor& targets, const Tensor& row_weights,
                     std::int64_t words, at::ScalarType sums, const SoftmaxLossOptions& options) {
  Rows rows{h.reshape({-1, h.size(-1)}), targets.reshape({-1}), {}, {}, {}};
  Tensor counts = rows.targets != options.ignore_index;  // [N]
  rows.weights = counts.to(sums);
  if (row_weights.defined()) {
    rows.weights = rows.weights * row_weights.reshape({-1}).to(sums);
    counts = rows.weights != 0;
  }
  rows.tokens = counts.sum();
  if (options.reduction == Reduction::mean) {
    const Tensor sum = rows.weights.sum();  // []
    rows.weights = rows.weights / sum.masked_fill(sum == 0, 1);
  }
  if (!h.is_cpu()) {  // whether all count is not known without waiting
    rows.targets = rows.targets.masked_fill(counts.logical_not(), 0);
    return rows;
  }
  if (rows.tokens.item<std::int64_t>() < rows.h.size(0)) {
    rows.kept = counts.nonzero().squeeze(1);
    rows.h = rows.h.index_select(0, rows.kept);
    rows.targets = rows.targets.index_select(0, rows.kept);
    rows.weights = rows.weights.index_select(0, rows.kept);
  }
  if (rows.targets.numel() > 0) {
    const auto [least, most] = rows.targets.aminmax();
    TORCH_CHECK_VALUE(
        least.item<std::int64_t>() >= 0 && most.item<std::int64_t>() < words, name,
        ": targets must be from 0 to ", words - 1, " or ignore_index ", options.ignore_index, ", got ",
        least.item<std::int64_t>() < 0 ? least.item<std::int64_t>() : most.item<std::int64_t>());
  }
  return rows;
}

}  // namespace

Reduction parse_reduction(std::string_view name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  throw InvalidInput(concat("reduction must be 'mean' or 'sum', got '", name, "'"));
}

SoftmaxLoss softmax_loss(const Tensor& h, const Tensor& weight, const Tensor& b, const Tensor& targets,
                         const Tensor& row_weights, const SoftmaxLossOptions& options) {
  check("softmax_loss", h, weight, b, targets, row_weights);
  TORCH_CHECK_VALUE(options.label_smoothing >= 0 && options.label_smoothing < 1,
                    "softmax_loss: label_smoothing must be at least 0 and less than 1, got ",
                    options.label_smoothing);
  TORCH_CHECK_VALUE(options.chunk_rows >= 0, "softmax_loss: chunk_rows must not be negative, got ",
                    options.chunk_rows);
  const at::ScalarType products = product_type(h), sums = is_half(products) ? at::kFloat : products;
  const Rows rows = rows_that_count("softmax_loss", h, targets, row_weights, weight.size(0), sums, options);
  const auto bias = b.defined() ? std::optional<Tensor>(b) : std::nullopt;  // apply wants no undefined one
  const auto found = SoftmaxLossFunction::apply(
      rows.h, weight, bias, rows.targets, rows.weights, products, at::GradMode::is_enabled(),
      options.label_smoothing, rows_of_chunk(rows.h, weight.size(0), sums, options.chunk_rows));
  Tensor nll = found[1];  // [N]
  if (rows.kept.defined()) {
    nll = at::zeros({targets.numel()}, nll.options()).index_copy_(0, rows.kept, nll);
  } else if (!h.is_cpu()) {
    nll = nll.masked_fill(rows.weights == 0, 0);
  }
  return {found[0], nll.view(targets.sizes()), found[2], rows.tokens};
}

Tensor log_uniform_distribution(std::int64_t words) {
  TORCH_CHECK_VALUE(words >= 1, "log_uniform_distribution: words must be at least 1, got ", words);
  const Tensor rank = at::arange(1, words + 1, at::TensorOptions(at::kDouble));  // [V]
  return rank.reciprocal().log1p_() / std::log1p(static_cast<double>(words));
}

Tensor expected_counts(const Tensor& distribution, std::int64_t count) {
  TORCH_CHECK_VALUE(distribution.dim() == 1 && distribution.is_floating_point(),
                    "expected_counts: distribution must be floating point [words], got ",
                    distribution.dtype(), " ", distribution.sizes());
  const std::int64_t words = distribution.size(0);
  TORCH_CHECK_VALUE(count >= 1 && count <= words, "expected_counts: count must be from 1 to ", words,
                    ", got ", count);
  const Tensor p = distribution.to(at::kDouble);  // [V]
  const auto least = p.min().item<double>();
  TORCH_CHECK_VALUE(least > 0 && std::isfinite(p.max().item<double>()),
                    "expected_counts: distribution must be positive, for a word that is never drawn is never "
                    "told from a target; its least is ",
                    least);
  if (count == words) return at::ones({words}, distribution.options().dtype(at::kFloat));
  const auto drawn = [&](double tau) { return (p * -tau).expm1_().neg_(); };  // [V]
  const auto wanted = static_cast<double>(count);
  double low = 0, high = 1 / least;
  while (drawn(high).sum().item<double>() < wanted) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (drawn(middle).sum().item<double>() < wanted ? low : high) = middle;
  }
  return drawn(high).to(at::kFloat);
}

Negatives draw_negatives(const Tensor& expected, std::optional<at::Generator> generator) {
  TORCH_CHECK_VALUE(expected.dim() == 1 && expected.scalar_type() == at::kFloat,
                    "draw_negatives: expected must be float [words], got ", expected.dtype(), " ",
                    expected.sizes());
  const Tensor chosen =
      at::rand(expected.sizes(), std::move(generator), expected.options()) < expected;  // [V]
  return {chosen.nonzero().squeeze(1), expected};
}

Tensor sampled_softmax_loss(const Tensor& h, const Tensor& weight, const Tensor& b, const Tensor& targets,
                            const Negatives& negatives, const Tensor& row_weights,
                            const SoftmaxLossOptions& options) {
  check("sampled_softmax_loss", h, weight, b, targets, row_weights);
  TORCH_CHECK_VALUE(negatives.expected.dim() == 1 && negatives.expected.size(0) == weight.size(0),
                    "sampled_softmax_loss: negatives must be drawn of ", weight.size(0), " words, got ",
                    negatives.expected.sizes());
  const at::ScalarType products = product_type(h), sums = is_half(products) ? at::kFloat : products;
  const Rows rows =
      rows_that_count("sampled_softmax_loss", h, targets, row_weights, weight.size(0), sums, options);
  const std::int64_t count = negatives.ids.size(0);
  const Tensor drawn = to_device(negatives.ids, h.device());  // [k]
  // Ids below 0 fill up what a device drew: it does not wait for how many there are.
  const Tensor filling = drawn.is_cpu() ? Tensor() : drawn < 0;                                // [k]
  const Tensor ids = at::cat({filling.defined() ? drawn.clamp_min(0) : drawn, rows.targets});  // [k + N]
  const auto vectors = rows_of(weight, ids).split_with_sizes({count, rows.targets.size(0)});
  Tensor others = at::mm(rows.h.to(products), vectors[0].to(products).t()).to(sums);          // [N, k]
  Tensor own = (rows.h.to(sums) * vectors[1].to(sums)).sum(1);                                // [N]
  Tensor correction = negatives.expected.to(h.device()).to(sums).index_select(0, ids).log();  // [k + N]
  if (b.defined()) correction = correction - rows_of(b, ids).to(sums);
  others = others - correction.slice(0, 0, count);
  own = own - correction.slice(0, count);
  Tensor hit = drawn.unsqueeze(0) == rows.targets.unsqueeze(1);  // [N, k]
  if (filling.defined()) hit = hit.logical_or(filling);
  others = others.masked_fill(hit, -std::numeric_limits<double>::infinity());
  const Tensor all = at::cat({own.unsqueeze(1), others}, 1);  // [N, 1 + k]
  return ((all.logsumexp(1) - own) * rows.weights).sum();
}

WordSoftmax::WordSoftmax(std::int64_t features, std::int64_t words, bool bias, bool tied,
                         double label_smoothing)
    : Module("WordSoftmax"), features_(features), words_(words), label_smoothing_(label_smoothing) {
  ST_CHECK(features >= 1 && words >= 1, InvalidInput,
           "WordSoftmax: features and words must be at least 1, got ", features, " and ", words);
  ST_CHECK(label_smoothing >= 0 && label_smoothing < 1, InvalidInput,
           "WordSoftmax: label_smoothing must be at least 0 and less than 1, got ", label_smoothing);
  if (!tied) {
    weight_ = register_parameter("weight", uninitialised({words, features}));
    torch::nn::init::xavier_uniform_(weight_);
  }
  if (bias) bias_ = register_parameter("bias", at::zeros({words}, at::kFloat));
}

const Tensor& WordSoftmax::matrix(const Tensor& table) const {
  TORCH_CHECK_VALUE(weight_.defined() != table.defined(),
                    "WordSoftmax: table must be given when it is tied, and "
                    "only then");
  return weight_.defined() ? weight_ : table;
}

SoftmaxLoss WordSoftmax::forward(const Tensor& h, const Tensor& targets, const Tensor& row_weights,
                                 const Tensor& table, Reduction reduction) const {
  SoftmaxLossOptions options;
  options.reduction = reduction;
  options.label_smoothing = trains(*this) ? label_smoothing_ : 0;
  return softmax_loss(h, matrix(table), bias_, targets, row_weights, options);
}

Tensor WordSoftmax::sampled_loss(const Tensor& h, const Tensor& targets, const Negatives& negatives,
                                 const Tensor& row_weights, const Tensor& table, Reduction reduction) const {
  return sampled_softmax_loss(h, matrix(table), bias_, targets, negatives, row_weights,
                              {.reduction = reduction});
}

Tensor WordSoftmax::logits(const Tensor& h, const Tensor& table) const {
  return at::linear(h, matrix(table), bias_);
}

void WordSoftmax::pretty_print(std::ostream& out) const {
  out << "WordSoftmax(features=" << features_ << ", words=" << words_ << (weight_.defined() ? "" : ", tied")
      << ")";
}

}  // namespace sentencode::nn
