#include "evaluation/logistic/objective.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <vector>

namespace sentencode::logistic {

using at::Tensor;

namespace {

/// Weights [p, K, D] as the right operand of products with rows [D, p K].
Tensor flat(const Tensor& w) { return w.reshape({w.size(0) * w.size(1), w.size(2)}).t(); }

}  // namespace

/// scores(piece, begin, x [b, D], z [b, p, K]) writes the scores of some rows, weights(first, last, w) the
/// weights of some problems; the first p have their own scores.
template <typename Scores, typename Weights>
void Objective::pass(Batch& batch, std::int64_t p, const Scores& scores, const Weights& weights) const {
  const std::int64_t all = batch.size(), k = targets_.outputs(), columns = x_.columns();
  const std::int64_t pieces = x_.pieces(p * k);
  const auto options = batch.w.options();
  const Tensor z = at::empty({x_.rows(), p, k}, options);
  Tensor losses = at::zeros({pieces, p}, options.dtype(at::kDouble));
  Tensor sums = at::zeros({pieces, p * k, columns}, options);
  x_.sweep(p * k, [&](std::int64_t piece, std::int64_t begin, const Tensor& x) {
    const std::int64_t end = begin + x.size(0);
    Tensor there = z.slice(0, begin, end);
    scores(piece, begin, x, there);
    const Tensor mask = batch.mask.slice(0, begin, end).slice(1, 0, p);  // [b, p]
    Tensor r = there.clone();                                            // [b, p, K]
    losses[piece] += targets_.losses(r, begin, end).mul_(mask).sum(0, false, at::kDouble);
    sums[piece].addmm_(r.mul_(mask.unsqueeze(2)).view({-1, p * k}).t(), x);
  });
  batch.z = z.expand({-1, all, -1});
  batch.f = losses.sum(0).repeat({all / p});
  batch.g = at::empty_like(batch.w);
  const Tensor gradients = sums.view({pieces, p, k, columns}).expand({-1, all, -1, -1});
  for_groups(batch, [&](std::size_t, std::int64_t first, std::int64_t last) {
    Tensor w = batch.w.slice(0, first, last), g = batch.g.slice(0, first, last);
    weights(first, last, w);
    const Tensor penalised = w * batch.penalty.slice(0, first, last);
    batch.f.slice(0, first, last) += 0.5 * (w * penalised).sum({1, 2}, false, at::kDouble);
    at::sum_out(g, gradients.slice(1, first, last), {0}).add_(penalised);
  });
}

void Objective::evaluate(Batch& batch, bool alike) const {
  const std::int64_t p = alike ? 1 : batch.size();
  const Tensor right = flat(batch.w.slice(0, 0, p));
  pass(
      batch, p,
      [&](std::int64_t, std::int64_t, const Tensor& x, const Tensor& z) {
        Tensor product = z.view({-1, right.size(1)});
        at::mm_out(product, x, right);
      },
      [](std::int64_t, std::int64_t, const Tensor&) {});
}

Tensor Objective::advance(Batch& batch, Line& line) const {
  const Tensor right = flat(line.d);
  line.dz = at::empty({x_.rows(), line.d.size(0), line.d.size(1)}, line.d.options());
  std::vector<float> far(static_cast<std::size_t>(x_.pieces(right.size(1))), 0);
  batch.w = at::empty_like(line.d);
  pass(
      batch, batch.size(),
      [&](std::int64_t piece, std::int64_t begin, const Tensor& x, Tensor& z) {
        const std::int64_t end = begin + x.size(0);
        const Tensor change = line.dz.slice(0, begin, end);
        Tensor product = change.view({-1, right.size(1)});
        at::mm_out(product, x, right);
        const auto [least, most] = at::aminmax(product);
        float& most_far = far[static_cast<std::size_t>(piece)];
        most_far = std::max({most_far, -least.item<float>(), most.item<float>()});
        at::add_out(z, line.z.slice(0, begin, end), change);
      },
      [&](std::int64_t first, std::int64_t last, Tensor& w) {
        at::add_out(w, line.w.slice(0, first, last), line.d.slice(0, first, last));
      });
  // Nearly all steps are short: then the reach of each problem is not needed.
  if (*std::ranges::max_element(far) <= kReach) return at::zeros({batch.size()}, line.d.options());
  return line.dz.abs().amax({0, 2});
}

void Objective::shorten(Batch& batch, const Line& line, const Tensor& length) const {
  batch.w = at::empty_like(line.d);
  pass(
      batch, batch.size(),
      [&](std::int64_t, std::int64_t begin, const Tensor& x, Tensor& z) {
        const std::int64_t end = begin + x.size(0);
        at::addcmul_out(z, line.z.slice(0, begin, end), line.dz.slice(0, begin, end),
                        length.view({1, -1, 1}));
      },
      [&](std::int64_t first, std::int64_t last, Tensor& w) {
        at::add_out(w, line.w.slice(0, first, last),
                    line.d.slice(0, first, last) * length.slice(0, first, last).view({-1, 1, 1}));
      });
}

void Objective::settle(Batch& batch) const {
  const std::int64_t p = batch.size(), k = targets_.outputs(), pieces = x_.pieces(p * k);
  const Tensor right = flat(batch.w);
  Tensor losses = at::zeros({pieces, p}, batch.f.options());
  x_.sweep(p * k, [&](std::int64_t piece, std::int64_t begin, const Tensor& x) {
    const std::int64_t end = begin + x.size(0);
    Tensor there = batch.z.slice(0, begin, end).view({-1, p * k});
    at::mm_out(there, x, right);
    Tensor r = there.view({-1, p, k}).clone();
    losses[piece] +=
        targets_.losses(r, begin, end).mul_(batch.mask.slice(0, begin, end)).sum(0, false, at::kDouble);
  });
  batch.f = losses.sum(0) + 0.5 * (batch.w.square() * batch.penalty).sum({1, 2}, false, at::kDouble);
}

}  // namespace sentencode::logistic
