// Copies to a device that do not wait for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sentencode::nn {

/// Whether `device` queues its work, so that copying pageable memory would wait for it.
bool is_queued(at::Device device);
/// Host memory; page-locked if copies to `device` can then be queued.
at::Tensor empty_for(at::Device device, at::IntArrayRef sizes, at::ScalarType type);
/// A copy of `host` on `device`; the same tensor on the CPU.
at::Tensor to_device(const at::Tensor& host, at::Device device);

}  // namespace sentencode::nn
