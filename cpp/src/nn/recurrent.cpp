#include "sentencode/nn/recurrent.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>
#include <torch/nn/init.h>

#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>

#include "nn/checks.h"
#include "nn/ops/recurrent/op.h"
#include "nn/parameters.h"
#include "nn/rows.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/sequences.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

/// Sentences as LibTorch packs them, without those that have no words.
struct Packing {
  Tensor batch_sizes;  // [steps] on the CPU
  Tensor positions;    // [N], in [B T], of each row; undefined if no sentence has a word
  Tensor sentences;    // [B' <= B], longest first
};

/// torch::nn::init::orthogonal_ of a square matrix, but float32 whatever the default dtype is.
void init_orthogonal(const Tensor& weight) {
  const at::NoGradGuard guard;
  auto [q, r] = at::linalg_qr(at::randn(weight.sizes(), at::kFloat));
  weight.copy_(q * r.diagonal().sign());  // uniform among all orthogonal matrices
}

/// Initialises each gate's matrix [H, D or H]: orthogonal if square, otherwise with N(0, 0.01^2).
void init_gates(const Tensor& weight, std::int64_t hidden) {
  for (const Tensor& gate : weight.split(hidden)) {
    if (gate.size(1) == hidden) {
      init_orthogonal(gate);
    } else {
      torch::nn::init::normal_(gate, 0, 0.01);
    }
  }
}

/// Nothing if all sentences fill the batch.
std::optional<Packing> packing(const Tensor& x, const Tensor& any_lengths) {
  if (!any_lengths.defined()) return std::nullopt;
  const Tensor lengths = any_lengths.cpu();
  check_lengths("recurrent: lengths", lengths, x.size(0), x.size(1));
  if (x.size(0) == 0 || lengths.min().item<std::int64_t>() == x.size(1)) return std::nullopt;
  const PackedOrder order(lengths, x.size(0), x.size(1), /*directions=*/0);
  if (order.parts.empty()) return Packing{};
  const PackedOrder::Part& part = order.parts.front();
  const Tensor both = to_device(at::cat({order.positions, part.index()}), x.device());  // in a single copy
  const std::int64_t words = order.positions.size(0);
  return Packing{at::tensor(part.batch_sizes, at::kLong), both.narrow(0, 0, words),
                 both.narrow(0, words, std::ssize(part.sentences))};
}

/// While one exists, cuDNN does not warn that a layer's weights are separate tensors: it copies them into
/// one, which takes less than a thousandth of a step.
class WithoutWeightsWarning : public c10::WarningHandler {
 public:
  WithoutWeightsWarning() : previous_(c10::WarningUtils::get_warning_handler()), guard_(this) {}
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("single contiguous chunk") == std::string::npos) previous_->process(warning);
  }

 private:
  c10::WarningHandler* previous_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

constexpr double kEpsilon = 1e-5;  // that of the paper's code

/// The products of a GRU's matrices with words or states, each normalised.
struct NormalisedGates {
  Tensor reset_update, candidate;  // [..., 2 H], [..., H]
};

/// The paper's GRU normalises both gates together, and the candidate alone.
NormalisedGates normalised(const Tensor& product, const Tensor& gain, const Tensor& bias) {
  const std::int64_t hidden = product.size(-1) / 3;
  const auto part = [&](std::int64_t begin, std::int64_t size) {
    return at::layer_norm(product.narrow(-1, begin, size), {size}, gain.narrow(0, begin, size),
                          bias.narrow(0, begin, size), kEpsilon);
  };
  return {part(0, 2 * hidden), part(2 * hidden, hidden)};
}

/// The next state [N, H] of the layer-normalised GRU, from the products of the word, the state h [N, H], and
/// weights W, U, b_W, b_U, g_W, g_U. The paper's update gate is 1 - z.
Tensor normalised_step(const NormalisedGates& word, const Tensor& h, const Tensor* w) {
  const NormalisedGates state = normalised(at::linear(h, w[1]), w[5], w[3]);
  const auto gates = at::sigmoid(word.reset_update + state.reset_update).chunk(2, -1);  // r, z
  const Tensor candidate = at::tanh(word.candidate + gates[0] * state.candidate);       // [N, H]
  return candidate + gates[1] * (h - candidate);
}

}  // namespace

RecurrentStack::RecurrentStack(const RecurrentOptions& options)
    : Module("RecurrentStack"), options_(options) {
  ST_CHECK(options.features >= 1 && options.hidden >= 1 && options.layers >= 1, InvalidInput,
           "RecurrentStack: features, hidden and layers must be at least 1, got ", options.features, ", ",
           options.hidden, " and ", options.layers);
  check_dropout("RecurrentStack", options.dropout);
  ST_CHECK(!options.layer_norm || options.cell == Cell::gru, InvalidInput,
           "RecurrentStack: layer_norm requires the cell 'gru', got '", name_of(options.cell), "'");
  const std::int64_t gates = (options.cell == Cell::gru ? 3 : 4) * options.hidden;
  const std::int64_t output = directions() * options.hidden;
  const double bound = 1 / std::sqrt(static_cast<double>(options.hidden));
  std::int64_t input = options.features;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    auto& weights = weights_.emplace_back();
    for (std::int64_t direction = 0; direction < directions(); ++direction) {
      const std::string suffix = concat("_l", layer, direction == 0 ? "" : "_reverse");
      const auto add = [&](const char* name, at::IntArrayRef shape) {
        weights.push_back(register_parameter(name + suffix, uninitialised(shape)));
        if (!options.orthogonal) {
          torch::nn::init::uniform_(weights.back(), -bound, bound);
        } else if (shape.size() == 2) {
          init_gates(weights.back(), options.hidden);
        } else {
          torch::nn::init::zeros_(weights.back());
        }
      };
      add("weight_ih", {gates, input});
      add("weight_hh", {gates, options.hidden});
      add("bias_ih", {gates});
      add("bias_hh", {gates});
      if (!options.layer_norm) continue;
      for (const char* name : {"gain_ih", "gain_hh"}) {
        weights.push_back(register_parameter(name + suffix, uninitialised({gates})));
        torch::nn::init::ones_(weights.back());
      }
    }
    switch (options.shortcuts) {
      case Shortcuts::none:
        input = output;
        break;
      case Shortcuts::input:
        input = options.features + output;
        break;
      case Shortcuts::all:
        input += output;
        break;
    }
  }
}

RecurrentState RecurrentStack::zero_state(std::int64_t batch, const at::TensorOptions& options) const {
  const auto zeros = [&] {
    return at::zeros({batch, options_.layers * directions(), options_.hidden}, options);  // [B, L dirs, H]
  };
  if (options_.cell == Cell::gru) return {zeros()};
  return {zeros(), zeros()};
}

void RecurrentStack::check_state(const RecurrentState& state, std::int64_t batch) const {
  const std::size_t parts = options_.cell == Cell::gru ? 1 : 2;
  TORCH_CHECK_VALUE(state.size() == parts, "recurrent: state must have ", parts, " tensors, got ",
                    state.size());
  const std::vector<std::int64_t> shape{batch, options_.layers * directions(), options_.hidden};
  for (const Tensor& part : state) check_tensor("recurrent: state", part, Type::any, at::IntArrayRef(shape));
}

Tensor RecurrentStack::input_of(std::size_t layer, const Tensor& x, const std::vector<Tensor>& below) const {
  if (layer == 0) return x;
  switch (options_.shortcuts) {
    case Shortcuts::none:
      return below.back();
    case Shortcuts::input:
      return at::cat({x, below.back()}, -1);
    case Shortcuts::all: {
      std::vector<Tensor> all{x};
      all.insert(all.end(), below.begin(), below.end());
      return at::cat(all, -1);
    }
  }
  throw InternalError("no such shortcuts");
}

/// Words stay packed through all layers.
RecurrentOutput RecurrentStack::forward_on_cpu(const Tensor& x, const Tensor& lengths,
                                               const RecurrentState& initial) const {
  const std::int64_t batch = x.size(0), time = x.size(1), dirs = directions();
  const auto order = std::make_shared<const PackedOrder>(lengths, batch, time, dirs);
  const Tensor words = gather_rows(x.reshape({batch * time, x.size(2)}), order->positions);  // [N, D]
  std::vector<Tensor> outputs;                                                               // [N, dirs H]
  std::vector<std::vector<Tensor>> final_states(initial.size());                             // [B, dirs, H]
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    RecurrentState state;
    for (const Tensor& part : initial) {
      state.push_back(part.narrow(1, static_cast<std::int64_t>(layer) * dirs, dirs));
    }
    const auto [output, final_state] =
        recurrent_layer(options_.cell, input_of(layer, words, outputs), state, order, weights_[layer]);
    for (std::size_t part = 0; part < state.size(); ++part) final_states[part].push_back(final_state[part]);
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? output : at::dropout(output, options_.dropout, trains(*this)));
  }
  RecurrentState state;
  for (const auto& parts : final_states) state.push_back(at::cat(parts, 1));  // [B, L dirs, H]
  return {scatter_rows(outputs.back(), order->positions, batch * time).view({batch, time, -1}), state};
}

/// Word by word, by LibTorch's functions: autograd has their gradients.
RecurrentOutput RecurrentStack::forward_normalised(const Tensor& x, const Tensor& lengths,
                                                   const RecurrentState& initial) const {
  const std::int64_t time = x.size(1), dirs = directions();
  const Sequences words = lengths.defined() ? Sequences::of(x, lengths) : Sequences{x, {}, {}, true};
  std::vector<Tensor> is_word;  // [B, 1] of each step
  if (!words.full) is_word = words.mask.unsqueeze(2).unbind(1);
  std::vector<Tensor> outputs, final_states;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const Tensor input = input_of(layer, words.x, outputs);  // [B, T, D]
    std::vector<Tensor> sides;                               // [B, T, H]
    for (std::int64_t direction = 0; direction < dirs; ++direction) {
      const Tensor* w = &weights_[layer][6 * direction];
      const NormalisedGates products = normalised(at::linear(input, w[0]), w[4], w[2]);
      const auto gates = products.reset_update.unbind(1), candidates = products.candidate.unbind(1);
      Tensor h = initial[0].select(1, static_cast<std::int64_t>(layer) * dirs + direction);  // [B, H]
      std::vector<Tensor> states(time);
      for (std::int64_t step = 0; step < time; ++step) {
        const std::int64_t t = direction == 0 ? step : time - 1 - step;
        const Tensor next = normalised_step({gates[t], candidates[t]}, h, w);
        h = is_word.empty() ? next : at::where(is_word[t], next, h);
        states[t] = h;
      }
      sides.push_back(at::stack(states, 1));
      final_states.push_back(h);
    }
    const Tensor output = words.with(at::cat(sides, 2)).x;
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? output : at::dropout(output, options_.dropout, trains(*this)));
  }
  return {outputs.back(), {at::stack(final_states, 1)}};
}

RecurrentOutput RecurrentStack::forward(const Tensor& x, const Tensor& lengths,
                                        const RecurrentState& state) const {
  check_tensor("recurrent: x", x, Type::any, {"batch", "time", options_.features});
  const std::int64_t batch = x.size(0), time = x.size(1), dirs = directions();
  const RecurrentState initial =
      state.empty() ? zero_state(batch, x.options().requires_grad(false)) : state;  // [B, L dirs, H]
  check_state(initial, batch);
  if (options_.layer_norm && batch > 0 && time > 0) return forward_normalised(x, lengths, initial);
  const auto packed = packing(x, lengths);
  if (batch == 0 || time == 0) return {x.new_zeros({batch, time, dirs * options_.hidden}), initial};

  if (supports_recurrent_layer(x, weights_.front())) return forward_on_cpu(x, lengths, initial);

  if (packed && !packed->positions.defined()) {
    return {x.new_zeros({batch, time, dirs * options_.hidden}), initial};
  }
  const WithoutWeightsWarning guard;
  // Under autocast cuDNN computes in float16, even if bfloat16 was chosen, and sums of gradients overflow. In
  // the weights' type it uses TF32.
  std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
  if (!x.is_cpu()) no_autocast.emplace(c10::autocast_dispatch_keyset);
  Tensor words = x;  // [B, T, D], or packed [N, D]
  if (packed) words = gather_rows(x.reshape({batch * time, x.size(2)}), packed->positions);
  // LibTorch's functions save tensors for backward only if they train. Dropout is ours.
  const bool train = at::GradMode::is_enabled();
  std::vector<Tensor> outputs, h_states, c_states;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const auto& weights = weights_[layer];
    const auto to_type_of_weights = [&](const Tensor& tensor) {
      return x.is_cpu() ? tensor : tensor.to(weights.front().scalar_type());
    };
    const auto state_of_layer = [&](const Tensor& part) {
      Tensor own_state = part.narrow(1, static_cast<std::int64_t>(layer) * dirs, dirs);  // [B, dirs, H]
      if (packed) own_state = own_state.index_select(0, packed->sentences);
      return to_type_of_weights(own_state.transpose(0, 1).contiguous());  // [dirs, B, H]
    };
    const Tensor input = to_type_of_weights(input_of(layer, words, outputs));
    Tensor output, h, c;
    if (options_.cell == Cell::gru) {
      const Tensor h0 = state_of_layer(initial[0]);
      std::tie(output, h) = packed ? at::gru(input, packed->batch_sizes, h0, weights, /*has_biases=*/true, 1,
                                             0, train, options_.bidirectional)
                                   : at::gru(input, h0, weights, /*has_biases=*/true, 1, 0, train,
                                             options_.bidirectional, /*batch_first=*/true);
    } else {
      const std::vector<Tensor> h0_c0{state_of_layer(initial[0]), state_of_layer(initial[1])};
      std::tie(output, h, c) = packed ? at::lstm(input, packed->batch_sizes, h0_c0, weights,
                                                 /*has_biases=*/true, 1, 0, train, options_.bidirectional)
                                      : at::lstm(input, h0_c0, weights, /*has_biases=*/true, 1, 0, train,
                                                 options_.bidirectional, /*batch_first=*/true);
      c_states.push_back(c);
    }
    h_states.push_back(h);  // [dirs, B, H]
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? output : at::dropout(output, options_.dropout, trains(*this)));
  }

  Tensor output = outputs.back();  // [B, T, dirs H], or packed
  if (packed) output = scatter_rows(output, packed->positions, batch * time).view({batch, time, -1});
  RecurrentState final_state;
  for (std::size_t part = 0; part < initial.size(); ++part) {
    Tensor states = at::cat(part == 0 ? h_states : c_states).transpose(0, 1);  // [B, L dirs, H]
    // A sentence without words keeps its initial state.
    if (packed) {
      states = initial[part].to(states.scalar_type()).index_copy(0, packed->sentences, states);
    }
    final_state.push_back(states);
  }
  return {output, final_state};
}

std::pair<Tensor, RecurrentState> RecurrentStack::step(const Tensor& x, const RecurrentState& state) const {
  TORCH_CHECK_VALUE(!options_.bidirectional, "recurrent: a bidirectional stack has no steps");
  check_tensor("recurrent: x of a step", x, Type::any, {"batch", options_.features});
  check_state(state, x.size(0));
  std::vector<Tensor> outputs, h_states, c_states;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const auto state_of_layer = [&](const Tensor& part) {
      return part.select(1, static_cast<std::int64_t>(layer));
    };
    const Tensor input = input_of(layer, x, outputs);
    const auto& w = weights_[layer];
    Tensor h;  // [B, H]
    if (options_.layer_norm) {
      h = normalised_step(normalised(at::linear(input, w[0]), w[4], w[2]), state_of_layer(state[0]),
                          w.data());
    } else if (options_.cell == Cell::gru) {
      h = at::gru_cell(input, state_of_layer(state[0]), w[0], w[1], w[2], w[3]);
    } else {
      Tensor c;
      std::tie(h, c) =
          at::lstm_cell(input, {state_of_layer(state[0]), state_of_layer(state[1])}, w[0], w[1], w[2], w[3]);
      c_states.push_back(c);
    }
    h_states.push_back(h);
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? h : at::dropout(h, options_.dropout, trains(*this)));
  }
  RecurrentState next{at::stack(h_states, 1)};  // [B, L, H]
  if (options_.cell == Cell::lstm) next.push_back(at::stack(c_states, 1));
  return {outputs.back(), next};
}

void RecurrentStack::pretty_print(std::ostream& out) const {
  out << "RecurrentStack(" << name_of(options_.cell) << ", features=" << options_.features
      << ", hidden=" << options_.hidden << ", layers=" << options_.layers
      << (options_.bidirectional ? ", bidirectional" : "") << (options_.layer_norm ? ", layer_norm" : "")
      << ")";
}

}  // namespace sentencode::nn
