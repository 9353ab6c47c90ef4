#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "nn/ops/conditional_gru/attention.h"
#include "nn/ops/conditional_gru/op.h"
#include "nn/ops/recurrent/kernels.h"
#include "nn/ops/recurrent/op.h"

namespace sentencode::nn {
namespace conditional_gru_op {
namespace {

using at::Tensor;
using Part = PackedOrder::Part;
using Tensors = std::vector<Tensor>;

template <typename T>
T* row_of(const Tensor& tensor, std::int64_t i) {
  return static_cast<T*>(tensor.data_ptr()) + i * tensor.size(-1);
}

/// Writes the first n rows of x w to `out`.
void multiply(const Tensor& out, const Tensor& x, const Tensor& w, std::int64_t n) {
  Tensor rows = out.narrow(0, 0, n);
  at::mm_out(rows, x.narrow(0, 0, n), w);
}

/// W x + b of a GRU, whose `weights` are W, U, b_W, b_U.
Tensor input_gates(const Tensor& x, const Tensor* weights) {
  return at::addmm(gru_input_bias(weights[2], weights[3]), x, weights[0].t());
}

struct Sizes {
  std::int64_t hidden, positions, attention, features;  // H, S, A, D

  explicit Sizes(const Tensors& inputs)
      : hidden(inputs[kState].size(1)),
        positions(inputs[kValues].size(1)),
        attention(inputs[kQuery].size(0)),
        features(inputs[kValues].size(2)) {}
  bool attends() const { return attention > 0; }
};

/// Written by the backward pass. The first GRU reads words x and states s, the second contexts c and s'.
struct Gradients {
  Tensor grad_word_a, grad_word_u;  // [N, 3 H] each, of W x + b and of U s
  Tensor grad_query_context_u;      // [N, A + 3 H], of the query, and of U s'
  Tensor grad_context_a;            // [N, 3 H], of W c + b; without attention [B, 3 H]
  Tensor previous;                  // [N, H], the states s_(t-1); not a gradient
  Tensor grad_state;                // [B, H]
  Tensor grad_keys, grad_values;    // undefined without attention
  Tensor grad_score;                // [parts, A]
};

/// The passes over the words, forward and backward. Tensors are contiguous.
template <typename T>
class Pass {
 public:
  Pass(const PackedOrder& order, const Tensors& inputs, const Tensors& outputs, const Tensor& mask)
      : order_(order), sizes_(inputs), inputs_(inputs), outputs_(outputs), mask_(mask) {}

  /// word_a [N, 3 H] = W x + b; without attention context_a [B, 3 H] = W c + b, otherwise undefined.
  void forward(const Tensor& word_a, const Tensor& context_a) const {
    const std::int64_t hidden = sizes_.hidden, gates = 3 * hidden, attention = sizes_.attention;
    // Products with contiguous transposes are fastest.
    const Tensor word_u = inputs_[kWordU].t().contiguous();  // [H, 3 H]
    const Tensor query_context_u = sizes_.attends()
                                       ? at::cat({inputs_[kQuery].t(), inputs_[kContextU].t()}, 1)
                                       : inputs_[kContextU].t().contiguous();  // [H, A + 3 H]
    const Tensor context_w = sizes_.attends() ? inputs_[kContextW].t().contiguous() : Tensor();  // [D, 3 H]
    const Tensor bias = gru_input_bias(inputs_[kContextBiasW], inputs_[kContextBiasU]);
    order_.for_parts(1, [&](std::int64_t, const Part& part) {
      const std::int64_t size = part.batch_sizes[0];
      const auto options = word_a.options();
      const Tensor u1 = at::empty({size, gates}, options), u2 = at::empty({size, attention + gates}, options);
      const Tensor a2 = sizes_.attends() ? at::empty({size, gates}, options) : Tensor();
      const Tensor h = inputs_[kState].index_select(0, part.index());
      for (std::size_t t = 0; t < part.batch_sizes.size(); ++t) {
        const std::int64_t n = part.batch_sizes[t], first = part.first_rows[t];
        multiply(u1, h, word_u, n);
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step(row(word_a, first + i), row(u1, i), row(inputs_[kWordBiasU], 0) + 2 * hidden, hidden,
                   row(outputs_[kWordGates], first + i), row(h, i), row(outputs_[kIntermediate], first + i));
        }
        multiply(u2, h, query_context_u, n);
        if (sizes_.attends()) {
          for (std::int64_t i = 0; i < n; ++i) {
            std::copy_n(row(u2, i), attention, row(outputs_[kQueries], first + i));
            attend(query_of(sentence(part, i), first + i));
          }
          multiply(a2, outputs_[kContexts].narrow(0, first, n), context_w, n);
          a2.narrow(0, 0, n).add_(bias);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step(sizes_.attends() ? row(a2, i) : row(context_a, sentence(part, i)), row(u2, i) + attention,
                   row(inputs_[kContextBiasU], 0) + 2 * hidden, hidden,
                   row(outputs_[kContextGates], first + i), row(h, i), row(outputs_[kStates], first + i));
        }
      }
    });
  }

  /// `grad_outputs` are the gradients of states, contexts and weights.
  void backward(const Tensors& grad_outputs, const Gradients& g) const {
    const std::int64_t hidden = sizes_.hidden, gates = 3 * hidden, attention = sizes_.attention;
    const Tensor query_context_u = sizes_.attends() ? at::cat({inputs_[kQuery], inputs_[kContextU]})
                                                    : inputs_[kContextU];  // [A + 3 H, H]
    order_.for_parts(1, [&](std::int64_t, const Part& part) {
      const std::int64_t size = part.batch_sizes[0];
      const auto options = g.grad_word_a.options();
      const Tensor grad_h = at::zeros({size, hidden}, options);
      const Tensor grad_context = sizes_.attends() ? at::empty({size, sizes_.features}, options) : Tensor();
      T* const grad_score = row(g.grad_score, &part - order_.parts.data());
      // Without attention, W c + b is the same at each step: its gradient is summed.
      std::vector<T> grad_a2(sizes_.attends() ? 0 : static_cast<std::size_t>(gates));
      for (std::size_t t = part.batch_sizes.size(); t-- > 0;) {
        const std::int64_t n = part.batch_sizes[t], first = part.first_rows[t];
        for (std::int64_t i = 0; i < n; ++i) {
          add(row(grad_outputs[kStates], first + i), hidden, row(grad_h, i));
          gru_step_backward(row(outputs_[kContextGates], first + i), row(outputs_[kIntermediate], first + i),
                            hidden, row(grad_h, i),
                            sizes_.attends() ? row(g.grad_context_a, first + i) : grad_a2.data(),
                            row(g.grad_query_context_u, first + i) + attention);
          if (!sizes_.attends()) add(grad_a2.data(), gates, row(g.grad_context_a, sentence(part, i)));
        }
        if (sizes_.attends()) {
          multiply(grad_context, g.grad_context_a.narrow(0, first, n), inputs_[kContextW], n);
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t b = sentence(part, i);
            add(row(grad_outputs[kContexts], first + i), sizes_.features, row(grad_context, i));
            attend_backward(
                query_of(b, first + i),
                {row(grad_context, i), row(grad_outputs[kWeights], first + i),
                 row(g.grad_query_context_u, first + i), grad_score, row(g.grad_keys, b * sizes_.positions),
                 row(g.grad_values, b * sizes_.positions)});
          }
        }
        grad_h.narrow(0, 0, n).addmm_(g.grad_query_context_u.narrow(0, first, n), query_context_u);
        for (std::int64_t i = 0; i < n; ++i) {
          const T* const previous = t == 0 ? row(inputs_[kState], sentence(part, i))
                                           : row(outputs_[kStates], part.first_rows[t - 1] + i);
          std::copy_n(previous, hidden, row(g.previous, first + i));
          gru_step_backward(row(outputs_[kWordGates], first + i), previous, hidden, row(grad_h, i),
                            row(g.grad_word_a, first + i), row(g.grad_word_u, first + i));
        }
        grad_h.narrow(0, 0, n).addmm_(g.grad_word_u.narrow(0, first, n), inputs_[kWordU]);
      }
      g.grad_state.index_copy_(0, part.index(), grad_h);
    });
  }

 private:
  static T* row(const Tensor& tensor, std::int64_t i) { return row_of<T>(tensor, i); }
  static std::int64_t sentence(const Part& part, std::int64_t i) {
    return part.sentences[static_cast<std::size_t>(i)];
  }
  static void add(const T* x, std::int64_t count, T* sum) {
    for (std::int64_t k = 0; k < count; ++k) sum[k] += x[k];
  }
  AttentionQuery<T> query_of(std::int64_t b, std::int64_t word) const {
    return {.positions = sizes_.positions,
            .attention = sizes_.attention,
            .features = sizes_.features,
            .mask = mask_.defined() ? mask_.const_data_ptr<bool>() + b * sizes_.positions : nullptr,
            .query = row(outputs_[kQueries], word),
            .score = row(inputs_[kScore], 0),
            .keys = row(inputs_[kKeys], b * sizes_.positions),
            .values = row(inputs_[kValues], b * sizes_.positions),
            .weights = row(outputs_[kWeights], word),
            .context = row(outputs_[kContexts], word)};
  }

  const PackedOrder& order_;
  const Sizes sizes_;
  const Tensors& inputs_;
  const Tensors& outputs_;
  const Tensor& mask_;
};

/// One step of hypotheses [begin, end); hypothesis i attends to memory i / hypotheses_per_memory. Without
/// attention, context_a [B, 3 H] = W c + b.
template <typename T>
void step(const Tensor& x, const Tensor& state, const KeysValues& memory, const Tensor& mask,
          const Tensor& context_a, const ConditionalWeights& weights, std::int64_t begin, std::int64_t end,
          const ConditionalStates& outputs) {
  const c10::InferenceMode guard;
  const std::int64_t n = end - begin, hidden = state.size(1);
  const std::int64_t hypotheses_per_memory = state.size(0) / memory.values.size(0);
  const std::int64_t positions = memory.values.size(1), features = memory.values.size(2);
  const auto &word = weights.word, &context = weights.context;
  const Tensor a1 = input_gates(x.narrow(0, begin, n), word.data());  // [n, 3 H]
  const Tensor u1 = state.narrow(0, begin, n).mm(word[1].t());        // [n, 3 H]
  const Tensor h = state.narrow(0, begin, n).clone();                 // [n, H]
  std::vector<T> scratch(static_cast<std::size_t>(5 * hidden));       // saved only for gradients
  for (std::int64_t i = 0; i < n; ++i) {
    gru_step(row_of<T>(a1, i), row_of<T>(u1, i), row_of<T>(word[3], 0) + 2 * hidden, hidden, scratch.data(),
             row_of<T>(h, i), scratch.data() + 4 * hidden);
  }
  const Tensor u2 = h.mm(context[1].t());  // [n, 3 H]
  Tensor a2;                               // [n, 3 H]
  if (weights.query.defined()) {
    const Tensor queries = h.mm(weights.query.t());  // [n, A]
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t b = (begin + i) / hypotheses_per_memory;
      attend(AttentionQuery<T>{.positions = positions,
                               .attention = queries.size(1),
                               .features = features,
                               .mask = mask.defined() ? mask.const_data_ptr<bool>() + b * positions : nullptr,
                               .query = row_of<T>(queries, i),
                               .score = row_of<T>(weights.score, 0),
                               .keys = row_of<T>(memory.keys, b * positions),
                               .values = row_of<T>(memory.values, b * positions),
                               .weights = row_of<T>(outputs.weights, begin + i),
                               .context = row_of<T>(outputs.contexts, begin + i)});
    }
    a2 = input_gates(outputs.contexts.narrow(0, begin, n), context.data());
  }
  for (std::int64_t i = 0; i < n; ++i) {
    gru_step(a2.defined() ? row_of<T>(a2, i) : row_of<T>(context_a, (begin + i) / hypotheses_per_memory),
             row_of<T>(u2, i), row_of<T>(context[3], 0) + 2 * hidden, hidden, scratch.data(), row_of<T>(h, i),
             row_of<T>(outputs.states, begin + i));
  }
}

}  // namespace

Tensors forward_cpu(const PackedOrder& order, const Tensors& inputs, const Tensor& mask) {
  const Sizes n(inputs);
  const auto options = inputs[kX].options().requires_grad(false);
  const std::int64_t words = inputs[kX].size(0), attending_words = n.attends() ? words : 0;
  const Tensors outputs{at::empty({words, n.hidden}, options),
                        at::empty({attending_words, n.features}, options),
                        at::empty({attending_words, n.positions}, options),
                        at::empty({attending_words, n.attention}, options),
                        at::empty({words, n.hidden}, options),
                        at::empty({words, 4 * n.hidden}, options),
                        at::empty({words, 4 * n.hidden}, options)};
  const Tensor word_a = input_gates(inputs[kX], &inputs[kWordW]);  // [N, 3 H]
  Tensor context_a;                                                // [B, 3 H]
  if (!n.attends()) context_a = input_gates(inputs[kValues].select(1, 0), &inputs[kContextW]);
  AT_DISPATCH_FLOATING_TYPES(word_a.scalar_type(), "conditional_gru", [&] {
    Pass<scalar_t>(order, inputs, outputs, mask).forward(word_a, context_a);
  });
  return outputs;
}

Tensors backward_cpu(const PackedOrder& order, const Tensors& inputs, const Tensor& mask,
                     const Tensors& outputs, const Tensors& grads, bool needs_grad_x) {
  const Sizes n(inputs);
  const auto options = inputs[kX].options().requires_grad(false);
  const std::int64_t words = inputs[kX].size(0), gates = 3 * n.hidden;
  Tensors contiguous_grads;
  for (const Tensor& grad : grads) contiguous_grads.push_back(grad.contiguous());
  const Gradients g{.grad_word_a = at::empty({words, gates}, options),
                    .grad_word_u = at::empty({words, gates}, options),
                    .grad_query_context_u = at::empty({words, n.attention + gates}, options),
                    .grad_context_a = n.attends() ? at::empty({words, gates}, options)
                                                  : at::zeros({inputs[kValues].size(0), gates}, options),
                    .previous = at::empty({words, n.hidden}, options),
                    .grad_state = at::zeros_like(inputs[kState]),
                    .grad_keys = n.attends() ? at::zeros_like(inputs[kKeys]) : Tensor(),
                    .grad_values = n.attends() ? at::zeros_like(inputs[kValues]) : Tensor(),
                    .grad_score = at::zeros({std::ssize(order.parts), n.attention}, options)};
  AT_DISPATCH_FLOATING_TYPES(g.grad_word_a.scalar_type(), "conditional_gru_backward", [&] {
    Pass<scalar_t>(order, inputs, outputs, mask).backward(contiguous_grads, g);
  });
  Tensors grad_inputs(kInputs);
  const auto set_weights = [&](Input w, Input b, const Tensor& grad, const Tensor& x) {
    grad_inputs[w] = grad.t().mm(x);
    grad_inputs[b] = grad.sum(0);
  };
  set_weights(kWordW, kWordBiasW, g.grad_word_a, inputs[kX]);
  set_weights(kWordU, kWordBiasU, g.grad_word_u, g.previous);
  set_weights(kContextU, kContextBiasU, g.grad_query_context_u.narrow(1, n.attention, gates),
              outputs[kIntermediate]);
  set_weights(kContextW, kContextBiasW, g.grad_context_a,
              n.attends() ? outputs[kContexts] : inputs[kValues].select(1, 0));
  if (needs_grad_x) grad_inputs[kX] = g.grad_word_a.mm(inputs[kWordW]);
  grad_inputs[kState] = g.grad_state;
  if (n.attends()) {
    grad_inputs[kQuery] = g.grad_query_context_u.narrow(1, 0, n.attention).t().mm(outputs[kIntermediate]);
    grad_inputs[kScore] = g.grad_score.sum(0, /*keepdim=*/true);
    grad_inputs[kKeys] = g.grad_keys;
    grad_inputs[kValues] = g.grad_values;
  } else {
    grad_inputs[kValues] = g.grad_context_a.mm(inputs[kContextW]).unsqueeze(1);
  }
  return grad_inputs;
}

}  // namespace conditional_gru_op

using at::Tensor;

ConditionalStates conditional_gru_step(const Tensor& x, const Tensor& state, const KeysValues& memory,
                                       const Tensor& memory_mask, const ConditionalWeights& weights) {
  const std::int64_t rows = x.size(0);
  ConditionalWeights contiguous{
      recurrent_op::contiguous(weights.word), recurrent_op::contiguous(weights.context), {}, {}};
  const KeysValues kv{memory.keys.contiguous(), memory.values.contiguous()};
  const Tensor mask = memory_mask.defined() ? memory_mask.contiguous() : Tensor();
  const Tensor previous = state.contiguous();
  ConditionalStates outputs{at::empty_like(previous), {}, {}};
  Tensor context_a;
  if (weights.query.defined()) {
    contiguous.query = weights.query.contiguous();
    contiguous.score = weights.score.contiguous();
    outputs.contexts = at::empty({rows, kv.values.size(2)}, previous.options());
    outputs.weights = at::empty({rows, kv.values.size(1)}, previous.options());
  } else {
    const Tensor context = kv.values.select(1, 0);  // [B, D]
    context_a = conditional_gru_op::input_gates(context, contiguous.context.data());
    outputs.contexts = context.repeat_interleave(rows / context.size(0), 0);
    outputs.weights = previous.new_ones({rows, 1});
  }
  const std::int64_t threads = at::get_num_threads();
  at::parallel_for(0, rows, std::max<std::int64_t>(8, (rows + threads - 1) / threads),
                   [&](std::int64_t begin, std::int64_t end) {
                     AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "conditional_gru_step", [&] {
                       conditional_gru_op::step<scalar_t>(x, previous, kv, mask, context_a, contiguous, begin,
                                                          end, outputs);
                     });
                   });
  return outputs;
}

}  // namespace sentencode::nn
