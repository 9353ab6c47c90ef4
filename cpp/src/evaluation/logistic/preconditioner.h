// Preconditioners of logistic regressions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "evaluation/logistic/design.h"
#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

/// Cholesky factors of the Hessian, or of an approximation, for each C.
struct Factors {
  std::vector<at::Tensor> lower;  // [blocks D, blocks D] each
  std::int64_t blocks;            // 1: shared by all classes; K: all classes jointly
  bool hessian;                   // the full Hessian near the current points; not a bound or a part of it

  /// Applies the inverse to gradients q [p, K, D] of problems of one C.
  at::Tensor solve(std::size_t group, const at::Tensor& q) const;
};

/// Computes Hessians from a sample of the rows.
class Hessians {
 public:
  /// cs: Distinct values of C [G]. penalty [D] double: Of squared weights, for C = 1. max_bytes: As in the
  /// options.
  Hessians(const Design& x, std::int64_t outputs, const LogisticProblems& problems, at::Tensor cs,
           at::Tensor penalty, std::int64_t max_bytes);

  /// Factors of an upper bound of the Hessian (Boehning), for every C.
  Factors bounds() const;
  /// Factors at weights w [K, D] without the coupling of classes, from these rows; the same for every C but
  /// for the penalty.
  Factors common(const at::Tensor& w, const at::Tensor& index) const;
  /// Factors make(g) of `hessian` for every C.
  Factors each(const std::function<at::Tensor(std::int64_t g)>& make) const;
  /// The factor of the Hessian at weights w [K, D] of rows with weights mask [n], for the C of index g.
  at::Tensor hessian(const at::Tensor& w, const at::Tensor& mask, std::int64_t g) const;

  /// A sample of rows, ascending, proportional to the number of columns, with a fixed seed, without the first
  /// `before`. Only if there are many more rows.
  at::Tensor draw(std::int64_t each, std::int64_t before = 0) const;
  /// Number of rows that each sampled row represents.
  double spread(const at::Tensor& some) const;

 private:
  bool worth_coupling(std::int64_t problems, std::int64_t max_bytes) const;
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
  at::Tensor order_;   // [n], random order of the rows, if a sample is enough
  at::Tensor sample_;  // rows for Hessians
  bool coupled_ = false;
};

}  // namespace sentencode::logistic
