#pragma once

#include <ATen/core/Tensor.h>

namespace sentencode::nn {

/// A padded batch of sentences; padding is on the right.
struct Sequences {
  at::Tensor x;               // [B, T, E]; padding is zero
  at::Tensor lengths;         // [B] int64
  at::Tensor mask;            // [B, T] bool
  bool full = false;          // known to have no padding: layers need no mask
  at::Tensor host_lengths{};  // [B] int64, lengths in host memory; undefined if they are only on x's device

  /// The padding of x may hold anything. `full`: all lengths are known to be T.
  static Sequences of(const at::Tensor& x, const at::Tensor& lengths, bool full = false,
                      const at::Tensor& host_lengths = {});
  /// The same sentences with other vectors [B, T, D], whose padding may hold anything.
  Sequences with(const at::Tensor& vectors) const;

  at::Tensor key_mask() const { return full ? at::Tensor() : mask; }
  at::Tensor lengths_or_all() const { return full ? at::Tensor() : lengths; }
  /// For layers that read lengths on the host: host_lengths does not wait for a device.
  at::Tensor host_lengths_or_all() const {
    return full || !host_lengths.defined() ? lengths_or_all() : host_lengths;
  }
};

}  // namespace sentencode::nn
