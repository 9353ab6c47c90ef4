#include "nn/to_device.h"

#include <ATen/Functions.h>

namespace sentencode::nn {

bool is_queued(at::Device device) { return device.is_cuda() || device.is_privateuseone(); }

at::Tensor empty_for(at::Device device, at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, at::TensorOptions(type).pinned_memory(is_queued(device)));
}

at::Tensor to_device(const at::Tensor& host, at::Device device) {
  if (!host.is_cpu() || !is_queued(device)) return host.to(device);
  // torch frees page-locked memory after the copy that reads it.
  const at::Tensor locked = empty_for(device, host.sizes(), host.scalar_type());
  locked.copy_(host);
  return locked.to(device, /*non_blocking=*/true);
}

}  // namespace sentencode::nn
