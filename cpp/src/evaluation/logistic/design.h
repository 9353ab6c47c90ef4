// The design matrix of logistic regressions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "sentencode/evaluation/features.h"

namespace sentencode::logistic {

void check_finite(const at::Tensor& of_features);

/// Intercepts [P, K] for rows that are not centred: w (x - mean) + b = w x + (b - w mean). In double, with
/// the rounded weights: an error here is the same for all rows, and would dominate the final gradient.
at::Tensor uncentred(const at::Tensor& intercepts, const at::Tensor& weights, const at::Tensor& mean);

/// X [n, D], D = d + 1: centred, which changes only intercepts, and divided by the standard deviations of its
/// columns, for the precision of float32; with a column of ones, whose weight is the intercept.
class Design {
 public:
  using Body = std::function<void(std::int64_t piece, std::int64_t begin, const at::Tensor& rows)>;

  Design(Features features, std::int64_t max_bytes);

  std::int64_t rows() const { return whole_.defined() ? whole_.size(0) : features_.rows(); }
  std::int64_t columns() const { return features_.dim() + 1; }
  const at::Tensor& mean() const { return mean_; }            // [d]
  const at::Tensor& deviation() const { return deviation_; }  // [d]

  /// Number of pieces of `sweep`, which depends only on the problems, so that sums do not depend on threads.
  std::int64_t pieces(std::int64_t outputs) const;
  /// body(piece, begin, x [b, D]) for all rows, in blocks that fit a cache with their `outputs` scores.
  void sweep(std::int64_t outputs, const Body& body) const;

  at::Tensor rows_at(const at::Tensor& index) const;    // [m, D]
  Design part(const at::Tensor& index) const;           // some rows, with the means and deviations of all
  at::Tensor augmented(const at::Tensor& block) const;  // [b, d] -> [b, D]

 private:
  void augment(const at::Tensor& block, at::Tensor out) const;  // [b, d] -> [b, D]
  /// body(piece, begin, block) for all features, in blocks of `size` rows and kPieces pieces.
  void for_blocks(std::int64_t size, const Body& body) const;

  Features features_;
  at::Tensor mean_, deviation_;
  at::Tensor whole_;  // [n, D], if it is small enough
};

}  // namespace sentencode::logistic
