#include "sentencode/nn/sparse_rows.h"

#include <ATen/Functions.h>

namespace sentencode::nn {

thread_local bool SparseRows::here_ = false;

at::Tensor rows_of(const at::Tensor& table, const at::Tensor& ids) {
  if (!SparseRows::here()) return table.index_select(0, ids);
  if (table.dim() == 1) return at::gather(table, 0, ids, /*sparse_grad=*/true);
  return at::embedding(table, ids, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, /*sparse=*/true);
}

}  // namespace sentencode::nn
