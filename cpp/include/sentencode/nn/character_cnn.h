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
  std::string alphabet{};                         // UTF-8; other characters share one vector
  std::int64_t features = 15;                     // D, dimensions of a character's vector
  std::int64_t filters = 100;                     // F, of each window
  std::vector<std::int64_t> windows = {1, 3, 5};  // widths in characters
};

/// Word vectors from characters (Kim, 2014): for each filter the maximum of ReLU(W c + b) over the windows in
/// the word. A word that is shorter than a window is padded with zeros. Initialised as in paper 002's public
/// code, which has no biases.
class CharacterCnn : public torch::nn::Module {
 public:
  explicit CharacterCnn(const CharacterCnnOptions& options);

  /// Character ids of `Alphabet` [W, C] int64 -> [W, dim]
  at::Tensor forward(const at::Tensor& characters) const;
  std::int64_t dim() const;
  void pretty_print(std::ostream& out) const override;

 private:
  std::int64_t filters_;
  at::Tensor table_;  // [characters, features]
  std::vector<std::shared_ptr<Convolution>> convolutions_;
};

}  // namespace sentencode::nn
