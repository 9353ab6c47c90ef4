#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>

#include "nn/ops/recurrent/kernels.h"
#include "nn/ops/recurrent/op.h"
#include "nn/product.h"

namespace sentencode::nn::recurrent_op {
namespace {

using at::Tensor;
using Part = PackedOrder::Part;

/// A few more rows than there are sentences, so that products have few different shapes.
std::int64_t padded(std::int64_t sentences) {
  const std::int64_t multiple = sentences <= 32 ? 8 : 32;
  return (sentences + multiple - 1) / multiple * multiple;
}

std::int64_t gates_of(const Layer& layer) { return (layer.is_gru() ? 3 : 4) * layer.hidden(); }

/// The rows [padded, H] of a part's sentences out of [B, dirs, H].
Tensor gather(const Tensor& states, std::int64_t direction, const Part& part) {
  const Tensor rows = states.select(1, direction).index_select(0, part.index());
  return at::constant_pad_nd(rows, {0, 0, 0, padded(rows.size(0)) - rows.size(0)});
}

/// The inverse.
void scatter(const Tensor& rows, std::int64_t direction, const Part& part, const Tensor& states) {
  states.select(1, direction).index_copy_(0, part.index(), rows.narrow(0, 0, std::ssize(part.sentences)));
}

std::vector<Tensor> gather(const std::vector<Tensor>& states, std::int64_t direction, const Part& part) {
  std::vector<Tensor> rows;
  for (const Tensor& state : states) rows.push_back(gather(state, direction, part));
  return rows;
}

/// `a` [N, G H] is W x + b; an LSTM's becomes its gates.
template <typename T>
void forward_part(const Layer& layer, std::int64_t direction, const Part& part, const Tensor& a,
                  const std::vector<Tensor>& final_states) {
  const bool gru = layer.is_gru();
  const std::int64_t steps = std::ssize(part.batch_sizes), hidden = layer.hidden();
  const std::int64_t gates = gates_of(layer), output_width = layer.directions() * hidden;
  const auto which = static_cast<std::size_t>(direction);
  const Product product(layer.weight(direction, 1), {}, part.batch_sizes[0], layer.output.size(0));
  const std::vector<Tensor> states = gather(layer.initial, direction, part);
  T* const h = states[0].mutable_data_ptr<T>();
  T* const c = gru ? nullptr : states[1].mutable_data_ptr<T>();
  const T* const b_n = gru ? layer.weight(direction, 3).const_data_ptr<T>() + 2 * hidden : nullptr;
  T* const a_data = a.mutable_data_ptr<T>();
  T* const output = layer.output.mutable_data_ptr<T>() + direction * hidden;
  // If nothing is saved, all words write to the same memory.
  std::vector<T> scratch(layer.saves ? 0 : static_cast<std::size_t>(4 * hidden));
  T* const gru_gates = gru && layer.saves ? layer.gates[which].mutable_data_ptr<T>() : scratch.data();
  T* const cells = !gru && layer.saves ? layer.cells[which].mutable_data_ptr<T>() : scratch.data();
  const std::int64_t stride = layer.saves ? 1 : 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto t = static_cast<std::size_t>(direction == 0 ? step : steps - 1 - step);
    const std::int64_t n = part.batch_sizes[t];
    const Tensor u = product(states[0].narrow(0, 0, padded(n)));  // [n or more, G H]
    const T* const u_data = u.const_data_ptr<T>();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = part.first_rows[t] + i;
      if (gru) {
        gru_step(a_data + row * gates, u_data + i * gates, b_n, hidden, gru_gates + stride * row * 4 * hidden,
                 h + i * hidden, output + row * output_width);
      } else {
        lstm_step(u_data + i * gates, hidden, a_data + row * gates, h + i * hidden, c + i * hidden,
                  output + row * output_width, cells + stride * row * hidden);
      }
    }
  }
  for (std::size_t k = 0; k < states.size(); ++k) scatter(states[k], direction, part, final_states[k]);
}

/// What backward_part writes for one direction.
struct DirectionGradients {
  Tensor a, u;      // [N, G H], of W x + b and of U h; an LSTM's are one tensor
  Tensor previous;  // [N, H], not a gradient: the state h before each word
};

/// `grad_states` are the gradients of the final states and become those of the initial ones.
template <typename T>
void backward_part(const Layer& layer, std::int64_t direction, const Part& part, const Tensor& grad_output,
                   const DirectionGradients& grads, const std::vector<Tensor>& grad_states) {
  const bool gru = layer.is_gru();
  const std::int64_t steps = std::ssize(part.batch_sizes), hidden = layer.hidden();
  const std::int64_t gates = gates_of(layer), output_width = layer.directions() * hidden;
  const auto which = static_cast<std::size_t>(direction);
  const Product product(layer.weight(direction, 1).t().contiguous(), {}, part.batch_sizes[0],
                        layer.output.size(0));
  const std::vector<Tensor> grad_now = gather(grad_states, direction, part);
  const std::vector<Tensor> initial = gather(layer.initial, direction, part);
  T* const grad_h = grad_now[0].mutable_data_ptr<T>();
  T* const grad_c = gru ? nullptr : grad_now[1].mutable_data_ptr<T>();
  const T* const h0 = initial[0].const_data_ptr<T>();
  const T* const c0 = gru ? nullptr : initial[1].const_data_ptr<T>();
  const T* const saved_gates = layer.gates[which].const_data_ptr<T>();
  const T* const cells = gru ? nullptr : layer.cells[which].const_data_ptr<T>();
  const T* const output = layer.output.const_data_ptr<T>() + direction * hidden;
  const T* const grad = grad_output.const_data_ptr<T>() + direction * hidden;
  T* const grad_a = grads.a.mutable_data_ptr<T>();
  T* const grad_u = grads.u.mutable_data_ptr<T>();
  T* const previous = grads.previous.mutable_data_ptr<T>();
  const Tensor grad_u_step = at::zeros({padded(part.batch_sizes[0]), gates}, grads.u.options());
  const auto at = [](std::int64_t t) { return static_cast<std::size_t>(t); };
  for (std::int64_t step = steps - 1; step >= 0; --step) {
    const std::int64_t t = direction == 0 ? step : steps - 1 - step;
    const std::int64_t before = direction == 0 ? t - 1 : t + 1;  // the step before
    const std::int64_t n = part.batch_sizes[at(t)];
    const std::int64_t n_before = before >= 0 && before < steps ? part.batch_sizes[at(before)] : 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = part.first_rows[at(t)] + i;
      const std::int64_t row_before = i < n_before ? part.first_rows[at(before)] + i : -1;
      T* const grad_state = grad_h + i * hidden;
      for (std::int64_t k = 0; k < hidden; ++k) grad_state[k] += grad[row * output_width + k];
      const T* const h = row_before >= 0 ? output + row_before * output_width : h0 + i * hidden;
      std::copy_n(h, hidden, previous + row * hidden);
      if (gru) {
        gru_step_backward(saved_gates + row * 4 * hidden, h, hidden, grad_state, grad_a + row * gates,
                          grad_u + row * gates);
      } else {
        const T* const c = row_before >= 0 ? cells + row_before * hidden : c0 + i * hidden;
        lstm_step_backward(saved_gates + row * 4 * hidden, c, cells + row * hidden, hidden, grad_state,
                           grad_c + i * hidden, grad_u + row * gates);
      }
    }
    std::copy_n(grad_u + part.first_rows[at(t)] * gates, n * gates, grad_u_step.mutable_data_ptr<T>());
    const Tensor through_u = product(grad_u_step.narrow(0, 0, padded(n)));  // [n or more, H]
    const T* const grad_through_u = through_u.const_data_ptr<T>();
    if (gru) {
      for (std::int64_t k = 0; k < n * hidden; ++k) grad_h[k] += grad_through_u[k];
    } else {
      std::copy_n(grad_through_u, n * hidden, grad_h);
    }
  }
  for (std::size_t k = 0; k < grad_now.size(); ++k) scatter(grad_now[k], direction, part, grad_states[k]);
}

}  // namespace

std::vector<Tensor> contiguous(at::TensorList tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.contiguous());
  return copies;
}

std::vector<Tensor> forward_cpu(Layer& layer, const Tensor& x) {
  const std::int64_t hidden = layer.hidden(), directions = layer.directions(), words = x.size(0);
  layer.output = at::empty({words, directions * hidden}, x.options());
  std::vector<Tensor> a;  // W x + b, [N, G H]
  for (std::int64_t direction = 0; direction < directions; ++direction) {
    const Tensor &b_w = layer.weight(direction, 2), &b_u = layer.weight(direction, 3);
    a.push_back(
        product(x, layer.weight(direction, 0), layer.is_gru() ? gru_input_bias(b_w, b_u) : b_w + b_u));
    if (!layer.saves) continue;
    layer.gates.push_back(layer.is_gru() ? at::empty({words, 4 * hidden}, x.options()) : a.back());
    if (!layer.is_gru()) layer.cells.push_back(at::empty({words, hidden}, x.options()));
  }
  std::vector<Tensor> outputs{layer.output};
  for (const Tensor& state : layer.initial) outputs.push_back(state.clone());
  const std::vector<Tensor> final_states(outputs.begin() + 1, outputs.end());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "recurrent", [&] {
    layer.order.for_parts(directions, [&](std::int64_t direction, const Part& part) {
      forward_part<scalar_t>(layer, direction, part, a[static_cast<std::size_t>(direction)], final_states);
    });
  });
  return outputs;
}

std::vector<Tensor> backward_cpu(const Layer& layer, const Tensor& x, const std::vector<Tensor>& grads,
                                 bool needs_grad_x) {
  std::vector<DirectionGradients> directions;
  for (std::int64_t direction = 0; direction < layer.directions(); ++direction) {
    const Tensor grad_u = at::empty({x.size(0), gates_of(layer)}, x.options());
    directions.push_back({.a = layer.is_gru() ? at::empty_like(grad_u) : grad_u,
                          .u = grad_u,
                          .previous = at::empty({x.size(0), layer.hidden()}, x.options())});
  }
  std::vector<Tensor> grad_states;
  for (std::size_t k = 1; k < grads.size(); ++k) {
    grad_states.push_back(grads[k].clone(at::MemoryFormat::Contiguous));
  }
  const Tensor grad_output = grads[0].contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "recurrent_backward", [&] {
    layer.order.for_parts(layer.directions(), [&](std::int64_t direction, const Part& part) {
      backward_part<scalar_t>(layer, direction, part, grad_output,
                              directions[static_cast<std::size_t>(direction)], grad_states);
    });
  });
  std::vector<Tensor> outputs(1);
  outputs.insert(outputs.end(), grad_states.begin(), grad_states.end());
  for (std::int64_t direction = 0; direction < layer.directions(); ++direction) {
    const auto& [grad_a, grad_u, previous] = directions[static_cast<std::size_t>(direction)];
    if (needs_grad_x) {
      const Tensor grad_x = product(grad_a, layer.weight(direction, 0).t().contiguous());
      outputs[0] = direction == 0 ? grad_x : outputs[0].add_(grad_x);
    }
    const Tensor grad_b = grad_a.sum(0);  // [G H]
    outputs.insert(outputs.end(), {grad_a.t().mm(x), grad_u.t().mm(previous), grad_b,
                                   layer.is_gru() ? grad_u.sum(0) : grad_b.clone()});
  }
  return outputs;
}

}  // namespace sentencode::nn::recurrent_op
