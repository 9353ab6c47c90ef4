#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>

namespace sentencode::nn {

/// A vector for each word: E e_t of the papers. Frozen, it takes no gradient and is a parameter all the same,
/// so that it is saved and moves with its model.
class WordEmbedding : public torch::nn::Module {
 public:
  WordEmbedding(std::int64_t words, std::int64_t features, bool trainable = true);

  /// ids [...] int64 -> [..., D]
  at::Tensor forward(const at::Tensor& ids) const;

  const at::Tensor& table() const { return weight_; }  // [V, D]; what a tied softmax is given
  void load(const at::Tensor& vectors);                // [V, D], copied
  /// More words, after those there are. The parameter stays the same tensor; an optimiser that has seen it
  /// has to be made anew.
  void expand(const at::Tensor& vectors);  // [k, D]
  void pretty_print(std::ostream& out) const override;

 private:
  at::Tensor weight_;
};

/// p[t, 2i] = sin(t / 10000^(2i/D)), p[t, 2i + 1] = cos(t / 10000^(2i/D)), t from `begin` on: paper 000, eq.
/// 1 and 2.  -> [length, D]
at::Tensor sinusoids(std::int64_t begin, std::int64_t length, std::int64_t features,
                     const at::TensorOptions& options = {});

/// A vector for each place in a sentence.
class Positions : public torch::nn::Module {
 public:
  /// `kind` is "sinusoidal", where no sentence is too long, or "learnt": a table for `length` places.
  /// `beyond` it, "refuse" is an error and "clamp" takes its last row.
  Positions(std::int64_t features, const std::string& kind = "sinusoidal", std::int64_t length = 512,
            const std::string& beyond = "refuse");

  /// Of places begin, begin + 1, ... for x [..., T, D], in its type -> [T, D]
  at::Tensor forward(const at::Tensor& x, std::int64_t begin = 0) const;
  void pretty_print(std::ostream& out) const override;

 private:
  std::int64_t features_;
  bool clamp_;
  at::Tensor weight_;  // [L, D] when learnt
};

}  // namespace sentencode::nn
