// Some logistic regressions that are solved side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sentencode::logistic {

/// Some of the problems, each at a point of its own. Objectives are divided by C here, so that C is the
/// penalty's affair alone and may be as large as anybody wants.
struct Batch {
  at::Tensor index;                // [p], among all problems
  at::Tensor group;                // [p], which C; rising
  std::vector<std::int64_t> ends;  // for each C, where its problems end
  at::Tensor penalty;              // [p, 1, D], 1 / C, and 0 for the intercept
  at::Tensor mask;                 // [n, p] float
  at::Tensor count;                // [p], rows trained on
  at::Tensor
      least;  // [p] double: objectives below this are as good as 0, as they become of separable classes
  at::Tensor smallest;  // [p], of gradients so far
  at::Tensor waited;    // [p], iterations since there was one much smaller than those before
  at::Tensor w;         // [p, K, D]
  at::Tensor z;         // [n, p, K], scores
  at::Tensor f;         // [p] double, objective
  at::Tensor g;         // [p, K, D], gradient
  at::Tensor
      present;  // [p, K], 1 for the classes of rows trained on, else 0; undefined where it is 1 for all

  std::int64_t size() const { return index.size(0); }
  void keep(const at::Tensor& which);
  void find_ends(std::int64_t groups);
};

/// body(group, begin, end) for the problems [begin, end) of each C, on all threads.
void for_groups(const Batch& batch,
                const std::function<void(std::size_t group, std::int64_t begin, std::int64_t end)>& body);

/// The mean of the weights of some problems: of each class, of those that know it [K, D].
at::Tensor middle(const Batch& batch, std::int64_t begin, std::int64_t end);

}  // namespace sentencode::logistic
