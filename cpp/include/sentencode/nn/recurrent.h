#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sentencode::nn {

enum class Cell { gru, lstm };
/// What a layer above the first sees beside the output of the layer below: nothing, the input of the stack
/// (paper 002, eq. 1 and 2), or the input and the outputs of all layers below.
enum class Shortcuts { none, input, all };

Cell parse_cell(std::string_view name);  // InvalidInput names the choices
std::string_view cell_name(Cell cell);
Shortcuts parse_shortcuts(std::string_view name);
std::string_view shortcuts_name(Shortcuts shortcuts);

struct RecurrentOptions {
  Cell cell = Cell::gru;
  std::int64_t features = 0;  // D
  std::int64_t hidden = 0;    // H, of each direction
  std::int64_t layers = 1;    // L
  bool bidirectional = false;
  Shortcuts shortcuts = Shortcuts::none;
  double dropout = 0;  // on what a layer gives to those above; shortcuts to the input have none
  /// Where weights begin: a gate's square matrices orthogonal, its others small, biases zero. Else all are
  /// drawn evenly from +-1 / sqrt(H).
  bool orthogonal = false;
};

/// h, and for the LSTM c: each [B, L directions, H], a layer's directions side by side. Batch comes first, so
/// that a decoder's hypotheses are reordered as everything else is.
using RecurrentState = std::vector<at::Tensor>;

struct RecurrentOutput {
  at::Tensor output;     // [B, T, directions H], of the last layer; zero where there is no word
  RecurrentState state;  // of each sentence's last word (for the backward direction its first)
};

/// Recurrent layers on top of each other, for sentences of any lengths. Padding is never computed with. On
/// the CPU, without autocast, they cannot be differentiated twice.
class RecurrentStack : public torch::nn::Module {
 public:
  explicit RecurrentStack(const RecurrentOptions& options);

  /// x [B, T, D]; lengths [B] int64, of words at the left, or undefined for T; state or {} for zeros.
  RecurrentOutput forward(const at::Tensor& x, const at::Tensor& lengths = {},
                          const RecurrentState& state = {}) const;

  /// One word further, by the same weights, for one direction. x [B, D] -> [B, H], state
  std::pair<at::Tensor, RecurrentState> step(const at::Tensor& x, const RecurrentState& state) const;

  RecurrentState zero_state(std::int64_t batch, const at::TensorOptions& options) const;
  /// Of a layer as LibTorch's functions want them: W_ih, W_hh, b_ih, b_hh of each direction.
  const std::vector<at::Tensor>& weights(std::size_t layer) const { return weights_[layer]; }
  std::int64_t directions() const { return options_.bidirectional ? 2 : 1; }
  void pretty_print(std::ostream& out) const override;

 private:
  void check_state(const RecurrentState& state, std::int64_t batch) const;
  /// forward by our own layers, which are on the CPU.
  RecurrentOutput by_layers(const at::Tensor& x, const at::Tensor& lengths,
                            const RecurrentState& begin) const;
  /// What layer l sees, of the stack's input and the outputs below it, the last of which is `below`.
  at::Tensor input_of(std::size_t layer, const at::Tensor& x, const std::vector<at::Tensor>& below) const;

  RecurrentOptions options_;
  std::vector<std::vector<at::Tensor>> weights_;  // of each layer, as LibTorch's functions want them
};

}  // namespace sentencode::nn
