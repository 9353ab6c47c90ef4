#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sentencode/enum_names.h"

namespace sentencode::nn {

enum class Cell { gru, lstm };
constexpr EnumNames<2> enum_names(Cell) { return {"cell", {"gru", "lstm"}}; }

/// The input of the layers above the first: the output of the layer below, with `input` together with the
/// input of the stack (paper 002, eq. 1 and 2), with `all` also with the outputs of all layers below.
enum class Shortcuts { none, input, all };
constexpr EnumNames<3> enum_names(Shortcuts) { return {"shortcuts", {"none", "input", "all"}}; }

struct RecurrentOptions {
  Cell cell = Cell::gru;
  std::int64_t features = 0;  // D
  std::int64_t hidden = 0;    // H, of each direction
  std::int64_t layers = 1;    // L
  bool bidirectional = false;
  Shortcuts shortcuts = Shortcuts::none;
  double dropout = 0;       // of each layer's output, for the layers above
  bool orthogonal = false;  // initialises a gate's square matrices as orthogonal, others with N(0, 0.01^2),
                            // and biases with 0; otherwise all weights are uniform in +-1 / sqrt(H)
  bool layer_norm = false;  // normalises the products of the GRU (Ba, Kiros, Hinton 2016)
};

/// h, and for the LSTM c: each [B, L directions, H], the directions of a layer next to each other. The batch
/// is the first dimension, so that hypotheses of a decoder can be reordered.
using RecurrentState = std::vector<at::Tensor>;

struct RecurrentOutput {
  at::Tensor output;     // [B, T, directions H], of the last layer; zero at padding
  RecurrentState state;  // after each sentence's last word (backward direction: its first word)
};

/// A stack of GRU or LSTM layers, for sentences of any lengths. Padding is skipped. On the CPU, without
/// autocast and layer normalisation, it cannot be differentiated twice.
class RecurrentStack : public torch::nn::Module {
 public:
  explicit RecurrentStack(const RecurrentOptions& options);

  /// x [B, T, D]; lengths [B] int64, or undefined for T; initial state, or {} for zeros.
  RecurrentOutput forward(const at::Tensor& x, const at::Tensor& lengths = {},
                          const RecurrentState& state = {}) const;

  /// The next word, for a stack with one direction. x [B, D] -> output [B, H], state
  std::pair<at::Tensor, RecurrentState> step(const at::Tensor& x, const RecurrentState& state) const;

  RecurrentState zero_state(std::int64_t batch, const at::TensorOptions& options) const;
  /// The weights of a layer, as for LibTorch's functions: W, U, b_W, b_U of each direction. With layer_norm,
  /// they are followed by the gains g_W, g_U.
  const std::vector<at::Tensor>& weights(std::size_t layer) const { return weights_[layer]; }
  std::int64_t directions() const { return options_.bidirectional ? 2 : 1; }
  void pretty_print(std::ostream& out) const override;

 private:
  void check_state(const RecurrentState& state, std::int64_t batch) const;
  RecurrentOutput forward_on_cpu(const at::Tensor& x, const at::Tensor& lengths,
                                 const RecurrentState& initial) const;
  RecurrentOutput forward_normalised(const at::Tensor& x, const at::Tensor& lengths,
                                     const RecurrentState& initial) const;
  /// The input of a layer: x is the stack's input, `below` the outputs of all layers below.
  at::Tensor input_of(std::size_t layer, const at::Tensor& x, const std::vector<at::Tensor>& below) const;

  RecurrentOptions options_;
  std::vector<std::vector<at::Tensor>> weights_;  // of each layer
};

}  // namespace sentencode::nn
