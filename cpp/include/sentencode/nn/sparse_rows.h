#pragma once

#include <ATen/core/Tensor.h>

namespace sentencode::nn {

/// While it lives, if it is wanted, gradients of tables that are read on this thread are sparse: only of rows
/// that were read. A dense gradient of V rows costs V rows of memory traffic, however few a step reads. What
/// reads a table as a whole beside (a softmax over all words) makes the sum dense again.
class SparseRows {
 public:
  explicit SparseRows(bool wanted) : before_(here_) { here_ = wanted; }
  ~SparseRows() { here_ = before_; }
  SparseRows(const SparseRows&) = delete;
  SparseRows& operator=(const SparseRows&) = delete;

  static bool here() { return here_; }

 private:
  bool before_;
  static thread_local bool here_;
};

/// table [V, D] or [V], ids [k] int64 -> [k, D] or [k]
at::Tensor rows_of(const at::Tensor& table, const at::Tensor& ids);

}  // namespace sentencode::nn
