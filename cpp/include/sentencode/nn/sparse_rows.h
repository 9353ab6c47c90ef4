#pragma once

#include <ATen/core/Tensor.h>

namespace sentencode::nn {

/// While one exists with sparse = true, lookups on this thread have sparse gradients: a dense gradient would
/// write all rows of the table, however few a step reads. A softmax over all words makes the sum of gradients
/// dense again.
class SparseRows {
 public:
  explicit SparseRows(bool sparse) : previous_(here_) { here_ = sparse; }
  ~SparseRows() { here_ = previous_; }
  SparseRows(const SparseRows&) = delete;
  SparseRows& operator=(const SparseRows&) = delete;

  static bool here() { return here_; }

 private:
  bool previous_;
  static thread_local bool here_;
};

/// Looks up rows. table [V, D] or [V], ids [k] int64 -> [k, D] or [k]
at::Tensor rows_of(const at::Tensor& table, const at::Tensor& ids);

}  // namespace sentencode::nn
