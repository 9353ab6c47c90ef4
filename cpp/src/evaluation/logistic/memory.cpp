#include "evaluation/logistic/memory.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <vector>

namespace sentencode::logistic {

using at::Tensor;

namespace {

constexpr std::size_t kMemory = 8;   // steps of L-BFGS
constexpr std::size_t kTrusted = 5;  // steps with an unscaled factor of the Hessian

}  // namespace

Tensor inner_products(const Tensor& a, const Tensor& b) {
  const std::int64_t p = a.size(0);
  return at::bmm(a.reshape({p, 1, -1}), b.reshape({p, -1, 1}));
}

void Memory::push(const Tensor& w) {
  if (steps_.size() == kTrusted) doubt();
  if (steps_.size() == kMemory) steps_.pop_front();
  steps_.push_back({at::empty_like(w), at::empty_like(w), at::empty({w.size(0), 1, 1}, w.options())});
}

void Memory::fill(std::int64_t begin, std::int64_t end, const Tensor& step, const Tensor& change) {
  const Step last = steps_.back().slice(begin, end);
  last.s.copy_(step);
  last.y.copy_(change);
  const Tensor sy = inner_products(step, change);
  const Tensor small =
      sy <=
      1e-10 * (inner_products(step, step) * inner_products(change, change)).sqrt();  // only rounding errors
  last.rho.copy_(sy.reciprocal().masked_fill(small, 0));
}

void Memory::keep(const Tensor& which) {
  for (Step& step : steps_) {
    step = {step.s.index_select(0, which), step.y.index_select(0, which), step.rho.index_select(0, which)};
  }
}

Tensor Memory::direction(std::int64_t begin, std::int64_t end, const Tensor& g,
                         const std::function<Tensor(const Tensor&)>& inverse) const {
  Tensor q = g.clone();
  std::vector<Tensor> alphas(steps_.size());
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step step = steps_[i].slice(begin, end);
    alphas[i] = step.rho * inner_products(step.s, q);
    q.addcmul_(alphas[i], step.y, -1);
  }
  if (steps_.empty() || trusted_) {
    q = inverse(q);
  } else {
    // Both at once, as most time is for reading the factor.
    const Step last = steps_.back().slice(begin, end);
    const Tensor both = inverse(at::cat({q, last.y}));  // [2 p, K, D]
    q = both.slice(0, 0, end - begin);
    const Tensor yhy = inner_products(last.y, both.slice(0, end - begin));
    const Tensor scale = (yhy * last.rho).reciprocal();
    q.mul_(at::where(scale.isfinite(), scale, at::ones_like(scale)));
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step step = steps_[i].slice(begin, end);
    q.addcmul_(alphas[i] - step.rho * inner_products(step.y, q), step.s);
  }
  return q.neg_();
}

}  // namespace sentencode::logistic
