// The order in which recurrent layers on CPUs process the words of a batch.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sentencode::nn {

/// The rows of packed sentences. Sentences are divided into parts, which threads process independently. The
/// rows of a part are the first words of all its sentences, longest sentence first, then the second words,
/// and so on, as in torch's PackedSequence.
struct PackedOrder {
  struct Part {
    std::vector<std::int64_t> sentences;    // sentences with words, longest first
    std::vector<std::int64_t> batch_sizes;  // sentences with a word at each step
    std::vector<std::int64_t> first_rows;   // first row of each step

    at::Tensor index() const;  // sentences, as a view
  };
  std::vector<Part> parts;
  at::Tensor positions;  // [N] int64: position in [B T] of each row

  /// lengths [B] int64, or undefined for T. There are as many parts as keep all threads busy when each part
  /// is processed once per direction. directions = 0: one part, as LibTorch packs sequences.
  PackedOrder(const at::Tensor& lengths, std::int64_t batch, std::int64_t time, std::int64_t directions);

  /// body(direction, part), on all threads.
  template <typename Body>
  void for_parts(std::int64_t directions, const Body& body) const {
    at::parallel_for(0, std::ssize(parts) * directions, 1, [&](std::int64_t begin, std::int64_t end) {
      const c10::InferenceMode guard;
      for (std::int64_t item = begin; item < end; ++item) {
        body(item % directions, parts[static_cast<std::size_t>(item / directions)]);
      }
    });
  }
};

/// Conversions for the saved data of an autograd function.
at::IValue to_ivalue(const std::shared_ptr<const PackedOrder>& order);
std::shared_ptr<const PackedOrder> to_packed_order(const at::IValue& value);

}  // namespace sentencode::nn
