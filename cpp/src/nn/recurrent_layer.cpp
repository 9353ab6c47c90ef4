#include "nn/recurrent_layer.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "nn/product.h"
#include "nn/recurrent_kernels.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A few more sentences than there are, so that products have few shapes.
std::int64_t rounded(std::int64_t sentences) {
  const std::int64_t multiple = sentences <= 32 ? 8 : 32;
  return (sentences + multiple - 1) / multiple * multiple;
}

std::int64_t gates_of(Cell cell) { return cell == Cell::gru ? 3 : 4; }

/// The tensors of a layer. Where there is one for each direction, rows follow each other within it.
struct Layer {
  Cell cell;
  const WordOrder& rows;
  std::vector<Tensor> begin;    // [B, dirs, H], contiguous
  std::vector<Tensor> weights;  // W, U, b_W, b_U of each direction
  Tensor output;                // [N, dirs H]
  bool keeps;                   // what backward needs:
  std::vector<Tensor> gates;    // [N, 4 H] of each direction
  std::vector<Tensor> cells;    // [N, H] of each direction of an LSTM

  const Tensor& weight(std::int64_t direction, std::size_t which) const {
    return weights[4 * static_cast<std::size_t>(direction) + which];
  }
  bool gru() const { return cell == Cell::gru; }
  std::int64_t hidden() const { return begin[0].size(2); }
  std::int64_t directions() const { return begin[0].size(1); }

  /// The states of a part's sentences, [rounded, H], out of [B, dirs, H], and back.
  template <typename T>
  Tensor taken(const Tensor& state, std::int64_t direction, const WordOrder::Part& part) const {
    const std::int64_t n = std::ssize(part.sentences), wide = directions() * hidden();
    Tensor found = at::zeros({rounded(n), hidden()}, state.options());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t b = part.sentences[static_cast<std::size_t>(i)];
      std::copy_n(state.const_data_ptr<T>() + b * wide + direction * hidden(), hidden(),
                  found.mutable_data_ptr<T>() + i * hidden());
    }
    return found;
  }
  template <typename T>
  void put_back(const Tensor& mine, std::int64_t direction, const WordOrder::Part& part,
                const Tensor& state) const {
    const std::int64_t wide = directions() * hidden();
    for (std::int64_t i = 0; i < std::ssize(part.sentences); ++i) {
      const std::int64_t b = part.sentences[static_cast<std::size_t>(i)];
      std::copy_n(mine.const_data_ptr<T>() + i * hidden(), hidden(),
                  state.mutable_data_ptr<T>() + b * wide + direction * hidden());
    }
  }

  template <typename T>
  void forward(std::int64_t direction, const WordOrder::Part& part, const Tensor& inputs,
               const std::vector<Tensor>& ends) const;
  template <typename T>
  void backward(std::int64_t direction, const WordOrder::Part& part, const Tensor& gradient,
                const Tensor& of_x, const Tensor& of_h, const Tensor& before,
                const std::vector<Tensor>& of_states) const;
};

/// `inputs` [N, G H] are W x + b; an LSTM's become its gates. `ends` receive the states of the end.
template <typename T>
void Layer::forward(std::int64_t direction, const WordOrder::Part& part, const Tensor& inputs,
                    const std::vector<Tensor>& ends) const {
  const std::int64_t longest = std::ssize(part.there), size = hidden(), wide = directions() * size;
  const std::int64_t wide_inputs = gates_of(cell) * size;
  const auto which = static_cast<std::size_t>(direction);
  const Product of_state(weight(direction, 1), {}, part.there[0], output.size(0));
  std::vector<Tensor> states;
  for (const Tensor& state : begin) states.push_back(taken<T>(state, direction, part));
  T* const h = states[0].template mutable_data_ptr<T>();
  T* const c = gru() ? nullptr : states[1].template mutable_data_ptr<T>();
  const T* const apart = gru() ? weight(direction, 3).template const_data_ptr<T>() + 2 * size : nullptr;
  T* const a = inputs.template mutable_data_ptr<T>();
  T* const out = output.template mutable_data_ptr<T>() + direction * size;
  // Where nothing is kept, every word writes it into the same place.
  std::vector<T> lost(keeps ? 0 : static_cast<std::size_t>(4 * size));
  T* const gate = gru() && keeps ? gates[which].template mutable_data_ptr<T>() : lost.data();
  T* const kept = !gru() && keeps ? cells[which].template mutable_data_ptr<T>() : lost.data();
  const std::int64_t by = keeps ? 1 : 0;
  for (std::int64_t step = 0; step < longest; ++step) {
    const auto t = static_cast<std::size_t>(direction == 0 ? step : longest - 1 - step);
    const std::int64_t n = part.there[t];
    const Tensor product = of_state.at_once(states[0].narrow(0, 0, rounded(n)));  // [n or more, G H]
    const T* const own = product.template const_data_ptr<T>();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = part.first[t] + i;
      if (gru()) {
        gru_step(gate + by * row * 4 * size, a + row * wide_inputs, own + i * wide_inputs, apart, size,
                 h + i * size, out + row * wide);
      } else {
        lstm_step(a + row * wide_inputs, own + i * wide_inputs, size, h + i * size, c + i * size,
                  out + row * wide, kept + by * row * size);
      }
    }
  }
  for (std::size_t k = 0; k < ends.size(); ++k) put_back<T>(states[k], direction, part, ends[k]);
}

/// `of_x` and `of_h` [N, G H] receive the gradients of W x and of U h, which an LSTM has in one tensor, and
/// `before` [N, H] the h that each word met. `of_states` hold the gradients of the ends, and then those of
/// the begin.
template <typename T>
void Layer::backward(std::int64_t direction, const WordOrder::Part& part, const Tensor& gradient,
                     const Tensor& of_x, const Tensor& of_h, const Tensor& before,
                     const std::vector<Tensor>& of_states) const {
  const std::int64_t longest = std::ssize(part.there), size = hidden(), wide = directions() * size;
  const std::int64_t wide_gates = gates_of(cell) * size;
  const auto which = static_cast<std::size_t>(direction);
  const Product back(weight(direction, 1).t().contiguous(), {}, part.there[0], output.size(0));
  std::vector<Tensor> states, begun;
  for (const Tensor& state : of_states) states.push_back(taken<T>(state, direction, part));
  for (const Tensor& state : begin) begun.push_back(taken<T>(state, direction, part));
  T* const of_hidden = states[0].template mutable_data_ptr<T>();
  T* const of_cell = gru() ? nullptr : states[1].template mutable_data_ptr<T>();
  const T* const h0 = begun[0].template const_data_ptr<T>();
  const T* const c0 = gru() ? nullptr : begun[1].template const_data_ptr<T>();
  const T* const gate = gates[which].template const_data_ptr<T>();
  const T* const kept = gru() ? nullptr : cells[which].template const_data_ptr<T>();
  const T* const out = output.template const_data_ptr<T>() + direction * size;
  const T* const g = gradient.template const_data_ptr<T>() + direction * size;
  T* const x_gates = of_x.template mutable_data_ptr<T>();
  T* const h_gates = of_h.template mutable_data_ptr<T>();
  T* const h_before = before.template mutable_data_ptr<T>();
  const Tensor now = at::zeros({rounded(part.there[0]), wide_gates}, of_h.options());
  const auto at = [](std::int64_t place) { return static_cast<std::size_t>(place); };
  for (std::int64_t step = longest - 1; step >= 0; --step) {
    const std::int64_t t = direction == 0 ? step : longest - 1 - step;
    const std::int64_t earlier = direction == 0 ? t - 1 : t + 1;  // the word that was before
    const std::int64_t n = part.there[at(t)];
    const std::int64_t went = earlier >= 0 && earlier < longest ? part.there[at(earlier)] : 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = part.first[at(t)] + i;
      const std::int64_t last = i < went ? part.first[at(earlier)] + i : -1;  // none: it began here
      T* const mine = of_hidden + i * size;
      for (std::int64_t k = 0; k < size; ++k) mine[k] += g[row * wide + k];
      const T* const h = last >= 0 ? out + last * wide : h0 + i * size;
      std::copy_n(h, size, h_before + row * size);
      if (gru()) {
        gru_step_backward(gate + row * 4 * size, h, size, mine, x_gates + row * wide_gates,
                          h_gates + row * wide_gates);
      } else {
        lstm_step_backward(gate + row * 4 * size, last >= 0 ? kept + last * size : c0 + i * size,
                           kept + row * size, size, mine, of_cell + i * size, h_gates + row * wide_gates);
      }
    }
    std::copy_n(h_gates + part.first[at(t)] * wide_gates, n * wide_gates, now.template mutable_data_ptr<T>());
    const Tensor product = back.at_once(now.narrow(0, 0, rounded(n)));  // [n or more, H]
    const T* const brought = product.template const_data_ptr<T>();
    if (gru()) {
      for (std::int64_t k = 0; k < n * size; ++k) of_hidden[k] += brought[k];
    } else {
      std::copy_n(brought, n * size, of_hidden);
    }
  }
  for (std::size_t k = 0; k < states.size(); ++k) put_back<T>(states[k], direction, part, of_states[k]);
}

/// Goes over a layer's words -> the output, and the ends. What backward needs is then in the layer.
variable_list go_over(Layer& layer, const Tensor& x) {
  const std::int64_t size = layer.hidden(), directions = layer.directions(), n = x.size(0);
  layer.output = at::empty({n, directions * size}, x.options());
  std::vector<Tensor> inputs;  // [N, G H] each
  for (std::int64_t direction = 0; direction < directions; ++direction) {
    Tensor bias = layer.weight(direction, 2) + layer.weight(direction, 3);  // [G H]
    if (layer.gru()) {  // a part of the second is inside r * (...)
      bias.narrow(0, 2 * size, size).copy_(layer.weight(direction, 2).narrow(0, 2 * size, size));
    }
    inputs.push_back(product(x, layer.weight(direction, 0), bias));
    if (!layer.keeps) continue;
    layer.gates.push_back(layer.gru() ? at::empty({n, 4 * size}, x.options()) : inputs.back());
    if (!layer.gru()) layer.cells.push_back(at::empty({n, size}, x.options()));
  }
  variable_list found{layer.output};
  for (const Tensor& state : layer.begin) found.push_back(state.clone());
  const std::vector<Tensor> ends(found.begin() + 1, found.end());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "recurrent", [&] {
    layer.rows.for_parts(layer.directions(), [&](std::int64_t direction, const WordOrder::Part& part) {
      layer.forward<scalar_t>(direction, part, inputs[static_cast<std::size_t>(direction)], ends);
    });
  });
  return found;
}

std::vector<Tensor> contiguous(at::TensorList tensors) {
  std::vector<Tensor> found;
  for (const Tensor& tensor : tensors) found.push_back(tensor.contiguous());
  return found;
}

class LayerFunction : public torch::autograd::Function<LayerFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, at::TensorList begin,
                               at::TensorList weights, const std::shared_ptr<const WordOrder>& rows,
                               Cell cell) {
    Layer layer{cell, *rows, contiguous(begin), contiguous(weights), {}, /*keeps=*/true, {}, {}};
    variable_list found = go_over(layer, x);
    variable_list saved{x, layer.output};
    for (const auto* part : {&layer.begin, &layer.weights, &layer.gates, &layer.cells}) {
      saved.insert(saved.end(), part->begin(), part->end());
    }
    context->save_for_backward(saved);
    context->saved_data["rows"] = kept_order(rows);
    context->saved_data["gru"] = layer.gru();
    return found;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "a recurrent layer cannot be differentiated twice (create_graph=True)");
    const variable_list saved = context->get_saved_variables();
    const auto rows = order_in(context->saved_data["rows"]);
    const bool gru = context->saved_data["gru"].toBool();
    auto next = saved.begin() + 2;
    const auto take = [&](std::int64_t count) {
      const auto from = next;
      next += count;
      return std::vector<Tensor>(from, next);
    };
    const std::int64_t states = gru ? 1 : 2, directions = next->size(1);
    Layer layer{gru ? Cell::gru : Cell::lstm, *rows, take(states), {}, saved[1], /*keeps=*/true, {}, {}};
    layer.weights = take(4 * directions);
    layer.gates = take(directions);
    if (!gru) layer.cells = take(directions);
    const Tensor& x = saved[0];
    const std::int64_t n = x.size(0), wide = gates_of(layer.cell) * layer.hidden();
    std::vector<Tensor> of_x, of_h, before, of_states;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      of_h.push_back(at::empty({n, wide}, x.options()));
      of_x.push_back(gru ? at::empty_like(of_h.back()) : of_h.back());
      before.push_back(at::empty({n, layer.hidden()}, x.options()));
    }
    for (std::size_t k = 1; k < gradients.size(); ++k) {
      of_states.push_back(gradients[k].clone(at::MemoryFormat::Contiguous));
    }
    const Tensor gradient = gradients[0].contiguous();
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "recurrent_backward", [&] {
      layer.rows.for_parts(layer.directions(), [&](std::int64_t direction, const WordOrder::Part& part) {
        const auto which = static_cast<std::size_t>(direction);
        layer.backward<scalar_t>(direction, part, gradient, of_x[which], of_h[which], before[which],
                                 of_states);
      });
    });
    variable_list found(1);
    if (context->needs_input_grad(0)) {
      for (std::int64_t direction = 0; direction < directions; ++direction) {
        const Tensor its = product(of_x[static_cast<std::size_t>(direction)],
                                   layer.weight(direction, 0).t().contiguous(), {});
        found[0] = direction == 0 ? its : found[0].add_(its);
      }
    }
    found.insert(found.end(), of_states.begin(), of_states.end());
    for (std::size_t which = 0; which < of_h.size(); ++which) {
      const Tensor of_bias = of_x[which].sum(0);  // [G H]
      found.push_back(of_x[which].t().mm(x));
      found.push_back(of_h[which].t().mm(before[which]));
      found.push_back(of_bias);
      found.push_back(gru ? of_h[which].sum(0) : of_bias.clone());
    }
    found.resize(found.size() + 2);  // the rows and the cell
    return found;
  }
};

}  // namespace

bool has_layer(const Tensor& x, const std::vector<Tensor>& weights) {
  const auto fits = [&](const Tensor& tensor) {
    return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.scalar_type() == x.scalar_type();
  };
  return (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble) && fits(x) &&
         !at::autocast::is_autocast_enabled(at::kCPU) && std::ranges::all_of(weights, fits);
}

RecurrentOutput recurrent_layer(Cell cell, const Tensor& x, const RecurrentState& begin,
                                const std::shared_ptr<const WordOrder>& order,
                                const std::vector<Tensor>& weights) {
  variable_list found;
  if (at::GradMode::is_enabled()) {
    found = LayerFunction::apply(x, at::TensorList(begin), at::TensorList(weights), order, cell);
  } else {
    Layer layer{cell, *order, contiguous(begin), contiguous(weights), {}, /*keeps=*/false, {}, {}};
    found = go_over(layer, x);
  }
  return {found[0], {found.begin() + 1, found.end()}};
}

}  // namespace sentencode::nn
