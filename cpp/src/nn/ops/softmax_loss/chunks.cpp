#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <limits>

#include "nn/ops/softmax_loss/op.h"

namespace sentencode::nn::softmax_loss_op {
namespace {

using at::Tensor;

// Bytes of a chunk's logits. Fewer stay in a cache; more read and write W and its gradient less often.
constexpr std::int64_t kBytesOnCpu = std::int64_t{12} << 20;
constexpr std::int64_t kBytesOnGpu = std::int64_t{256} << 20;
// GPUs multiply half precision fast only if rows are aligned to 16 bytes; these are 128.
constexpr std::int64_t kAlignment = 64;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::int64_t rows_per_chunk(const Rows& x) {
  const std::int64_t rows = std::max<std::int64_t>(x.h.size(0), 1);
  if (x.chunk_rows > 0) return std::min(x.chunk_rows, rows);
  const std::int64_t bytes = x.h.is_cpu() ? kBytesOnCpu : kBytesOnGpu;
  const auto row_bytes = x.weight.size(0) * static_cast<std::int64_t>(c10::elementSize(x.sums));
  const std::int64_t most = std::max<std::int64_t>(16, bytes / row_bytes);
  const std::int64_t chunks = (rows + most - 1) / most;
  return (rows + chunks - 1) / chunks;  // chunks of equal size
}

/// Adds up the loss and its gradients, chunk by chunk.
class Chunks : public Losses {
 public:
  Chunks(const Rows& rows, const Needs& needs)
      : x_(rows),
        needs_(needs),
        e_(rows.label_smoothing),
        words_(rows.weight.size(0)),
        rows_(rows_per_chunk(rows)),
        one_chunk_(e_ == 0 && rows.h.size(0) > 0 && rows_ >= rows.h.size(0)),
        h_(rows.h.to(rows.products)),
        weight_(rows.weight.to(rows.products)),
        bias_(rows.bias.defined() ? rows.bias.to(rows.sums) : Tensor()) {
    const auto options = rows.h.options().dtype(rows.sums).requires_grad(false);
    loss = at::zeros({}, options);
    correct = at::zeros({}, options.dtype(at::kLong));
    nll = at::empty({h_.size(0)}, options);                     // [N]
    if (needs.grad_h) grad_h = at::empty(h_.sizes(), options);  // [N, D]
    if (e_ > 0) {
      // The mean logit is the product of h and the mean row of W: no pass over the logits.
      mean_weight_ = weight_.mean(0, /*keepdim=*/false, rows.sums);  // [D]
      if (bias_.defined()) mean_bias_ = bias_.mean();                // []
    }
    if (is_mixed() && !h_.is_cpu() && words_ % kAlignment != 0) align();
    if (needs.grad_weight) grad_weight = at::empty(weight_.sizes(), options);  // [V, D]
    if (needs.grad_bias) grad_bias = at::zeros({weight_.size(0)}, options);    // [V]
  }

  void run() {
    const std::int64_t all = h_.size(0);
    const Tensor logits = at::empty({rows_, weight_.size(0)}, loss.options());
    if (needs_.grad_weight && !one_chunk_) initialise_grad_weight();
    for (std::int64_t begin = 0; begin < all; begin += rows_) {
      const std::int64_t end = std::min(all, begin + rows_);
      add(begin, end, logits.slice(0, 0, end - begin));
    }
    if (padding_ > 0 && needs_.grad_weight) grad_weight = grad_weight.narrow(0, 0, words_);
    if (padding_ > 0 && needs_.grad_bias) grad_bias = grad_bias.narrow(0, 0, words_);
    if (needs_.grad_bias && e_ > 0) grad_bias.sub_(x_.weights.sum() * (e_ / static_cast<double>(words_)));
  }

 private:
  bool is_mixed() const { return x_.products != x_.sums; }

  /// Adds words of probability 0, so that V is a multiple of kAlignment.
  void align() {
    padding_ = kAlignment - words_ % kAlignment;
    weight_ = at::constant_pad_nd(weight_, {0, 0, 0, padding_});
    if (bias_.defined()) bias_ = at::constant_pad_nd(bias_, {0, padding_}, kMinusInfinity);
  }

  /// out = a b. Of half precision, cuBLAS adds up in float; a CPU rounds the sums.
  void multiply(const Tensor& a, const Tensor& b, Tensor out) const {
    if (!is_mixed()) {
      at::mm_out(out, a, b);
    } else if (a.is_cpu()) {
      out.copy_(at::mm(a, b));
    } else {
      at::mm_out(out, a, b, x_.sums);
    }
  }

  /// z = h W^T + b
  void logits(const Tensor& h, Tensor z) const {
    if (!is_mixed() && bias_.defined()) {
      at::addmm_out(z, bias_, h, weight_.t());
      return;
    }
    multiply(h, weight_.t(), z);
    if (bias_.defined()) {
      z.add_(bias_);
    } else if (padding_ > 0) {
      z.narrow(1, words_, padding_).fill_(kMinusInfinity);
    }
  }

  /// The part of smoothing, which is the same for every word: -(e / V) sum of w h.
  void initialise_grad_weight() {
    if (e_ == 0) {
      grad_weight.zero_();
      return;
    }
    const Tensor row = at::mv(h_.t().to(x_.sums), x_.weights) * (-e_ / static_cast<double>(words_));  // [D]
    grad_weight.copy_(row.expand_as(grad_weight));
  }

  /// Adds rows `begin` to `end`; z [R, V] is memory for their logits.
  void add(std::int64_t begin, std::int64_t end, const Tensor& z) {
    const Tensor h = h_.slice(0, begin, end);                            // [R, D]
    const Tensor target = x_.targets.slice(0, begin, end).unsqueeze(1);  // [R, 1]
    const Tensor weights = x_.weights.slice(0, begin, end);              // [R]
    const Tensor w = weights.unsqueeze(1);                               // [R, 1]
    logits(h, z);
    const Tensor z_target = z.gather(1, target);  // [R, 1]
    Tensor p = z;                                 // [R, V], times `norm` on the CPU
    Tensor chunk_nll, norm;                       // [R], [R, 1]
    if (z.is_cpu()) {
      const Tensor max = z.amax(1, /*keepdim=*/true);  // [R, 1]
      correct.add_(z_target.eq(max).logical_and_(w != 0).sum());
      z.sub_(max).exp_();
      norm = z.sum(1, /*keepdim=*/true);                         // [R, 1]
      chunk_nll = (norm.log().add_(max) - z_target).squeeze(1);  // [R]
    } else {                                                     // one kernel instead of four
      p = at::_log_softmax(z, 1, /*half_to_float=*/false);
      const Tensor log_p = p.gather(1, target);  // [R, 1]
      correct.add_(log_p.eq(p.amax(1, /*keepdim=*/true)).logical_and_(w != 0).sum());
      chunk_nll = -log_p.squeeze(1);
    }
    nll.slice(0, begin, end).copy_(chunk_nll);
    Tensor smoothed = chunk_nll;
    if (e_ > 0) {
      Tensor mean = at::mv(h.to(x_.sums), mean_weight_);  // [R]
      if (mean_bias_.defined()) mean = mean + mean_bias_;
      smoothed = chunk_nll + e_ * (z_target.squeeze(1) - mean);
    }
    loss.add_(at::dot(weights, smoothed));
    if (!needs_.grad_h && !needs_.grad_weight && !needs_.grad_bias) return;

    // The gradient of z is w (p - (1 - e) one_hot(target) - e / V). Factors of a whole row are applied to the
    // smaller side of each product.
    if (!z.is_cpu()) {
      p.exp_();
      p.scatter_add_(1, target, at::full_like(z_target, e_ - 1));
    } else {
      p.scatter_add_(1, target, norm * (e_ - 1));
      if (is_mixed()) p.div_(norm);
    }
    const Tensor scale = !is_mixed() && norm.defined() ? w / norm : w;  // [R, 1]
    const Tensor grad_z = p.to(x_.products);                            // [R, V], divided by scale
    if (needs_.grad_h) {
      Tensor grad = grad_h.slice(0, begin, end);  // [R, D]
      multiply(grad_z, weight_, grad);
      grad.mul_(scale);
      if (e_ > 0) grad.sub_(w * (e_ * mean_weight_));
    }
    if (needs_.grad_weight) add_grad_weight(grad_z, (h * scale).to(x_.products));
    if (needs_.grad_bias) grad_bias.addmv_(p.t(), scale.squeeze(1));
  }

  void add_grad_weight(const Tensor& grad_z, const Tensor& scaled_h) {
    if (one_chunk_) {
      multiply(grad_z.t(), scaled_h, grad_weight);
    } else if (!is_mixed()) {
      grad_weight.addmm_(grad_z.t(), scaled_h);
    } else if (grad_z.is_cpu()) {
      grad_weight.add_(at::mm(grad_z.t(), scaled_h));
    } else {
      at::addmm_out(grad_weight, grad_weight, grad_z.t(), scaled_h, x_.sums);
    }
  }

  const Rows& x_;
  const Needs& needs_;
  double e_;
  std::int64_t words_, rows_, padding_ = 0;  // V, rows of a chunk, words added by align()
  bool one_chunk_;                           // the gradient of W is a single product
  Tensor h_, weight_, bias_;                 // [N, D], [V, D], [V]
  Tensor mean_weight_, mean_bias_;           // [D], []
};

}  // namespace

bool is_half(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

Losses by_chunks(const Rows& rows, const Needs& needs) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);  // types are set here
  Chunks chunks(rows, needs);
  chunks.run();
  return chunks;
}

}  // namespace sentencode::nn::softmax_loss_op
