#include "evaluation/logistic/targets.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>

namespace sentencode::logistic {

using at::Tensor;

Targets::Targets(const LogisticProblems& problems, std::int64_t rows) : classes_(problems.classes) {
  const Tensor& t = problems.targets;
  TORCH_CHECK_VALUE(classes_ >= 2 && classes_ <= std::numeric_limits<std::int16_t>::max(),
                    "classes must be at least 2, got ", classes_);
  if (t.scalar_type() == at::kLong) {
    TORCH_CHECK_VALUE(t.dim() == 1 && t.size(0) == rows, "targets must be int64 [", rows, "], got ",
                      t.sizes());
    TORCH_CHECK_VALUE(
        rows == 0 || (t.min().item<std::int64_t>() >= 0 && t.max().item<std::int64_t>() < classes_),
        "targets must be classes, 0 to ", classes_ - 1);
    labels_ = t;
    if (classes_ == 2) right_ = t.to(at::kFloat).unsqueeze(1);  // [n, 1]
  } else {
    TORCH_CHECK_VALUE(
        t.is_floating_point() && t.dim() == 2 && t.size(0) == rows && t.size(1) == classes_ && classes_ > 2,
        "targets must be int64 [n], or floating point [n, classes] with at least 3 classes, got ", t.dtype(),
        " ", t.sizes());
    right_ = t.to(at::kFloat);
    TORCH_CHECK_VALUE(right_.isfinite().all().item<bool>(), "targets must be finite");
  }
}

Tensor Targets::losses(Tensor& z, std::int64_t begin, std::int64_t end) const {
  if (classes_ == 2) {
    const Tensor sign = 1 - 2 * right_.slice(0, begin, end);  // [rows, 1], 1 for the first class
    Tensor wrong = z.squeeze(2).mul_(sign);                   // margin on the wrong side
    Tensor loss = at::softplus(wrong);
    wrong.sigmoid_().mul_(sign);
    return loss;
  }
  if (labels_.defined()) {
    // log-sum-exp of the other classes relative to the right one: 1 - p would lose all digits if p is
    // nearly 1.
    const Tensor label = labels_.slice(0, begin, end).view({-1, 1, 1}).expand({-1, z.size(1), 1});
    z.sub_(z.gather(2, label)).scatter_(2, label, -std::numeric_limits<double>::infinity());
    const Tensor others = z.logsumexp(2, /*keepdim=*/true);  // [rows, p, 1]
    const Tensor wrong = others.sigmoid();
    z.sub_(others).exp_().mul_(wrong).scatter_(2, label, -wrong);
    return at::softplus(others.squeeze(2));
  }
  const Tensor log_p = at::log_softmax(z, 2);
  // Targets of a row may sum to less than 1, for a score below the first class.
  const Tensor t = right_.slice(0, begin, end).unsqueeze(1);  // [rows, 1, K]
  Tensor loss = (log_p * t).sum(2).neg_();
  at::exp_out(z, log_p);
  z.mul_(t.sum(2, true)).sub_(t);
  return loss;
}

Tensor Targets::shares(const Tensor& index) const {
  const auto some = [&](const Tensor& all) { return index.defined() ? all.index_select(0, index) : all; };
  return labels_.defined() ? at::bincount(some(labels_), {}, classes_) : some(right_).sum(0);
}

Tensor Targets::present(const Tensor& mask) const {
  if (!labels_.defined() || classes_ == 2) return {};
  const Tensor counts = at::zeros({classes_, mask.size(1)}, mask.options()).index_add_(0, labels_, mask);
  return counts.min().item<float>() > 0 ? Tensor() : (counts > 0).to(at::kFloat).t().contiguous();
}

Tensor Targets::predictions(const Tensor& z) const {
  return (classes_ == 2 ? z.squeeze(2) > 0 : z.argmax(2)).to(at::kShort).t().contiguous();
}

}  // namespace sentencode::logistic
