#pragma once

#include <ATen/core/Tensor.h>

namespace sentencode::nn {

/// Sentences as the vectors of their words, at the left.
struct Sequences {
  at::Tensor x;        // [B, T, E]; zero where there is no word
  at::Tensor lengths;  // [B] int64
  at::Tensor mask;     // [B, T] bool
  bool full =
      false;  // whether it is known that all fill the batch: no layer has to look for what is not there
  at::Tensor
      host_lengths{};  // [B] int64, the lengths in the host's memory; undefined if only x's device has them

  /// x may hold anything where there is no word. `full`: it is known that each length is T.
  static Sequences of(const at::Tensor& x, const at::Tensor& lengths, bool full = false,
                      const at::Tensor& host_lengths = {});
  /// The same sentences as other vectors [B, T, D], which may hold anything where there is no word.
  Sequences with(const at::Tensor& vectors) const;

  at::Tensor key_mask() const { return full ? at::Tensor() : mask; }
  at::Tensor lengths_or_all() const { return full ? at::Tensor() : lengths; }
  /// For layers that read lengths on the host: those that are there need no wait for a device.
  at::Tensor host_lengths_or_all() const {
    return full || !host_lengths.defined() ? lengths_or_all() : host_lengths;
  }
};

}  // namespace sentencode::nn
