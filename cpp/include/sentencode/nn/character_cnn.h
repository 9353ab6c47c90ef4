#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sentencode/text/alphabet.h"

namespace sentencode::nn {

class Convolution;

struct CharacterCnnOptions {
  std::string alphabet{};                         // the characters that it tells apart, UTF-8
  std::int64_t features = 15;                     // of a character's vector
  std::int64_t filters = 100;                     // F, of each window
  std::vector<std::int64_t> windows = {1, 3, 5};  // characters that a filter sees at a time
};

/// Words by their characters (Kim 2014): of each filter the maximum of ReLU(W c + b) over the windows that
/// lie in the word. A word that is shorter than a window has one, filled up with zeros. Characters' vectors
/// and filters begin as those of paper 002's public code, which has no biases.
class CharacterCnn : public torch::nn::Module {
 public:
  explicit CharacterCnn(const CharacterCnnOptions& options);

  /// The ids of characters [W, C] int64, as `Alphabet` says -> [W, dim]
  at::Tensor forward(const at::Tensor& characters) const;
  std::int64_t dim() const;
  void pretty_print(std::ostream& out) const override;

 private:
  std::int64_t filters_;
  at::Tensor table_;  // [characters, features]
  std::vector<std::shared_ptr<Convolution>> convolutions_;
};

}  // namespace sentencode::nn
