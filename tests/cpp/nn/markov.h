// A decoder for tests.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "sentencode/nn/decoding.h"

namespace sentencode::nn {

/// Transition probabilities from word to word.
class Markov : public Decoder {
 public:
  explicit Markov(const at::Tensor& p) : log_p_(p.log()) {}
  DecoderStart start(const DecoderMemory& source) override { return {source, {}}; }
  DecoderStep step(const at::Tensor& ids, const DecoderMemory& memory, const DecoderCache& cache) override {
    DecoderStep step{log_p_.index_select(0, ids), cache};
    // Attends to the previous word, with the weight that its sentence has in the memory.
    if (memory.empty()) return step;
    EXPECT_EQ(ids.size(0) % memory[0].size(0), 0);
    const auto weights = memory[0].repeat_interleave(ids.size(0) / memory[0].size(0), 0);  // [N, 1]
    step.alignment = at::one_hot(ids, log_p_.size(0)).to(at::kFloat) * weights;
    return step;
  }

 private:
  at::Tensor log_p_;  // [V, V]
};

}  // namespace sentencode::nn
