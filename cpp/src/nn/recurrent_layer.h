// Recurrent layers on the CPU, over the words of all sentences, with gradients where they are wanted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "sentencode/nn/recurrent.h"

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

  /// lengths [B] int64, or undefined for T.
  WordOrder(const at::Tensor& lengths, std::int64_t batch, std::int64_t time, std::int64_t directions);
};

/// Whether `recurrent_layer` can go over it: float or double on the CPU, without autocast.
bool has_layer(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// One layer: x [N, D], begin [B, dirs, H] each, weights as LibTorch's functions want them -> output
/// [N, dirs H], and the states of the end, like `begin`. Products with W are of all words at once; only those
/// of h are of one step. For backward the gates are kept, and an LSTM's cells. It cannot be differentiated
/// twice.
RecurrentOutput recurrent_layer(Cell cell, const at::Tensor& x, const RecurrentState& begin,
                                const std::shared_ptr<const WordOrder>& order,
                                const std::vector<at::Tensor>& weights);

}  // namespace sentencode::nn
