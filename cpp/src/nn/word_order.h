// The order in which recurrent layers go over words on the CPU.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sentencode::nn {

/// In which rows the words of a batch lie. Sentences are dealt out to parts, each of which a thread goes over
/// by itself: a part has the first words of its sentences, then the second ones, the longest sentence first.
struct WordOrder {
  struct Part {
    std::vector<std::int64_t> sentences;  // those with words
    std::vector<std::int64_t> there;      // of each step: how many sentences have a word
    std::vector<std::int64_t> first;      // of each step: its first row
  };
  std::vector<Part> parts;
  at::Tensor places;  // [N] int64: where in [B T] each row is from

  /// lengths [B] int64, or undefined for T. There are as many parts as keep all threads at work, where each
  /// is gone over `directions` times; with directions = 0 there is one part, as LibTorch packs sequences.
  WordOrder(const at::Tensor& lengths, std::int64_t batch, std::int64_t time, std::int64_t directions);

  /// body(direction, part), on all threads.
  template <typename Body>
  void for_parts(std::int64_t directions, const Body& body) const {
    at::parallel_for(0, std::ssize(parts) * directions, 1, [&](std::int64_t from, std::int64_t to) {
      const c10::InferenceMode guard;
      for (std::int64_t item = from; item < to; ++item) {
        body(item % directions, parts[static_cast<std::size_t>(item / directions)]);
      }
    });
  }
};

/// What a node of autograd keeps of it, and what it kept.
at::IValue kept_order(const std::shared_ptr<const WordOrder>& order);
std::shared_ptr<const WordOrder> order_in(const at::IValue& value);

}  // namespace sentencode::nn
