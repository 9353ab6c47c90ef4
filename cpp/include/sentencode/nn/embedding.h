#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

#include "sentencode/enum_names.h"

namespace sentencode::nn {

/// The word embeddings: a table with a row for each word. A frozen table is a parameter without gradient, so
/// that it is saved and moved with its model.
class WordEmbedding : public torch::nn::Module {
 public:
  WordEmbedding(std::int64_t words, std::int64_t features, bool trainable = true);

  /// ids [...] int64 -> [..., D]
  at::Tensor forward(const at::Tensor& ids) const;

  const at::Tensor& table() const { return weight_; }  // [V, D]
  void load(const at::Tensor& vectors);                // [V, D], copied
  /// Appends words [k, D]. The parameter remains the same tensor, but optimisers must be created anew.
  void expand(const at::Tensor& vectors);
  void pretty_print(std::ostream& out) const override;

 private:
  at::Tensor weight_;
};

/// p[t, 2i] = sin(t / 10000^(2i/D)), p[t, 2i + 1] = cos(t / 10000^(2i/D)) for t = begin, begin + 1, ...
/// (paper 000, eq. 1 and 2)  -> [length, D]
at::Tensor sinusoids(std::int64_t begin, std::int64_t length, std::int64_t features,
                     const at::TensorOptions& options = {});

enum class PositionEncoding { sinusoidal, learnt };
constexpr EnumNames<2> enum_names(PositionEncoding) { return {"positions", {"sinusoidal", "learnt"}}; }

/// What a sentence longer than the table of learnt positions does: an error, or the last row again.
enum class Beyond { refuse, clamp };
constexpr EnumNames<2> enum_names(Beyond) { return {"beyond", {"refuse", "clamp"}}; }

/// Position embeddings.
class Positions : public torch::nn::Module {
 public:
  /// Learnt encodings are a table of `length` rows.
  explicit Positions(std::int64_t features, PositionEncoding kind = PositionEncoding::sinusoidal,
                     std::int64_t length = 512, Beyond beyond = Beyond::refuse);

  /// The embeddings of positions begin, begin + 1, ... for x [..., T, D], in its type -> [T, D]
  at::Tensor forward(const at::Tensor& x, std::int64_t begin = 0) const;
  void pretty_print(std::ostream& out) const override;

 private:
  std::int64_t features_;
  Beyond beyond_;
  at::Tensor weight_;  // [L, D] if learnt
};

}  // namespace sentencode::nn
