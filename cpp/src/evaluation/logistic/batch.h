// A batch of logistic regressions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sentencode::logistic {

/// A batch of problems and their current points. Objectives are divided by C, so that C appears only in the
/// penalty and may be arbitrarily large.
struct Batch {
  at::Tensor index;                // [p], indices of the problems
  at::Tensor group;                // [p], index of C; ascending
  std::vector<std::int64_t> ends;  // for each C, the end of its problems
  at::Tensor penalty;              // [p, 1, D], 1 / C, and 0 for the intercept
  at::Tensor mask;                 // [n, p] float
  at::Tensor count;                // [p], number of training rows
  at::Tensor least;                // [p] double: objectives below this count as 0, as for separable classes
  at::Tensor smallest;             // [p], smallest gradient so far
  at::Tensor waited;               // [p], iterations since it became much smaller
  at::Tensor w;                    // [p, K, D]
  at::Tensor z;                    // [n, p, K], scores
  at::Tensor f;                    // [p] double, objective
  at::Tensor g;                    // [p, K, D], gradient
  at::Tensor present;  // [p, K], 1 for classes of the training rows, else 0; undefined if all are 1

  std::int64_t size() const { return index.size(0); }
  void keep(const at::Tensor& which);
  void find_ends(std::int64_t groups);
};

/// body(group, begin, end) for the problems [begin, end) of each C, on all threads.
void for_groups(const Batch& batch,
                const std::function<void(std::size_t group, std::int64_t begin, std::int64_t end)>& body);

/// Mean of the weights of some problems, for each class over those that have it [K, D].
at::Tensor middle(const Batch& batch, std::int64_t begin, std::int64_t end);

}  // namespace sentencode::logistic
