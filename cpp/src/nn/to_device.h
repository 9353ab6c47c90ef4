// Copies to a device that do not wait for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sentencode::nn {

/// Whether work on `device` is queued, so that a copy of pageable memory would wait for all of it.
bool is_queued(at::Device device);
/// Memory on the host, page-locked where copies to `device` can then be queued as well.
at::Tensor empty_for(at::Device device, at::IntArrayRef sizes, at::ScalarType type);
/// `host` on `device`; on the CPU itself.
at::Tensor to_device(const at::Tensor& host, at::Device device);

}  // namespace sentencode::nn
