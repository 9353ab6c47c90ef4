// Batches of tensors from Python. Needs <pybind11/stl.h>.
#pragma once

#include <ATen/Functions.h>

#include <utility>
#include <vector>

#include "sentencode/models/sentence_network.h"

namespace sentencode {

using Fields = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// ids [B, T] and lengths [B] of each field.
inline training::TensorBatch batch_of(const Fields& fields) {
  training::TensorBatch batch;
  for (const auto& [ids, lengths] : fields) {
    TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == at::kLong,
                      "ids must be int64 [batch, time], got ", ids.dtype(), " ", ids.sizes());
    const auto bare = models::Sequences::of(
        at::empty({ids.size(0), ids.size(1), 0}, ids.options().dtype(at::kFloat)), lengths);
    TORCH_CHECK_VALUE(batch.fields.empty() || ids.size(0) == batch.size, "ids of all fields must be of ",
                      batch.size, " sentences, got ", ids.size(0));
    batch.size = ids.size(0);
    batch.fields.push_back({ids, lengths, bare.mask, lengths.sum().item<std::int64_t>(), bare.full});
  }
  return batch;
}

}  // namespace sentencode
