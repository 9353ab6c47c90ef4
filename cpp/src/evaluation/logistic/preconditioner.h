// What preconditions logistic regressions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "evaluation/logistic/design.h"
#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

/// Of each C's Hessian, or of what stands for it, the factor by Cholesky.
struct Factors {
  std::vector<at::Tensor> lower;  // [blocks D, blocks D] each
  std::int64_t blocks;            // 1: of what classes have in common; K: of all classes together
  bool hessian;                   // all of it, about where the problems are; not a bound, nor a part

  /// Gradients q [p, K, D] of problems of one C, through its factor.
  at::Tensor solve(std::size_t group, const at::Tensor& q) const;
};

/// Makes Hessians of some of the rows, which tell them well enough.
class Hessians {
 public:
  /// `cs`: each different C [G]; `penalty` [D] double: of squared weights, for C = 1.
  Hessians(const Design& x, std::int64_t outputs, const LogisticProblems& problems, at::Tensor cs,
           at::Tensor penalty);

  /// Factors that know of the loss only how steeply it can bend (Boehning), for every C.
  Factors bounds() const;
  /// At weights w [K, D] and without what classes have to do with each other, made of these rows for all;
  /// the same for every C but for its penalty.
  Factors common(const at::Tensor& w, const at::Tensor& index) const;
  /// What make(g) gives for every C, of `hessian` below.
  Factors each(const std::function<at::Tensor(std::int64_t g)>& make) const;
  /// The Hessian at weights w [K, D], of rows that count mask [n], factorised for C number g.
  at::Tensor hessian(const at::Tensor& w, const at::Tensor& mask, std::int64_t g) const;

  /// So many rows for each column: drawn at random, the same always, and not those that `before` were drawn.
  /// Rising. Only where there are many more rows.
  at::Tensor draw(std::int64_t each, std::int64_t before = 0) const;
  /// How many rows each of some stands for.
  double spread(const at::Tensor& some) const;

 private:
  bool worth_coupling(std::int64_t problems) const;
  std::vector<at::Tensor> for_each_c(const std::function<at::Tensor(std::int64_t g)>& make) const;
  Factors factors(const at::Tensor& gram, bool hessian) const;
  at::Tensor factor(const at::Tensor& gram, std::int64_t g, std::int64_t blocks) const;
  void over(const at::Tensor& index,
            const std::function<void(const at::Tensor& at, const at::Tensor& x)>& body) const;
  at::Tensor curvature(const at::Tensor& w, const at::Tensor& mask, const at::Tensor& index, double spread,
                       bool coupled) const;

  const Design& x_;
  std::int64_t outputs_;
  at::Tensor cs_, penalty_;
  at::Tensor order_;   // [n], all rows in a random one, where some are enough
  at::Tensor sample_;  // rows that Hessians are made of
  bool coupled_ = false;
};

}  // namespace sentencode::logistic
