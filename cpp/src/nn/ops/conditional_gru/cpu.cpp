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

/// The first n rows of out = x w
void multiply(const Tensor& out, const Tensor& x, const Tensor& w, std::int64_t n) {
  Tensor rows = out.narrow(0, 0, n);
  at::mm_out(rows, x.narrow(0, 0, n), w);
}

/// W x + b of a GRU; `weights` points to W, U, b_W, b_U.
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

/// What the backward pass writes.
struct Gradients {
  Tensor word_a, word_u;   // [N, 3 H], of W x + b and of U s of the first GRU
  Tensor query_context_u;  // [N, A + 3 H], of the query, and of U s' of the second GRU
  Tensor context_a;        // [N, 3 H], of W c + b of the second GRU; without attention [B, 3 H]
  Tensor previous;         // [N, H], not a gradient: the states s_(t-1)
  Tensor state;            // [B, H]
  Tensor keys, values;     // as the inputs; undefined without attention
  Tensor score;            // [parts, A]
};

/// The passes over the words, forward and backward. Tensors are contiguous.
template <typename T>
class Pass {
 public:
  Pass(const PackedOrder& order, const Tensors& inputs, const Tensors& outputs, const Tensor& mask)
      : order_(order), n_(inputs), inputs_(inputs), outputs_(outputs), mask_(mask) {}

  /// word_a [N, 3 H] = W x + b; without attention context_a [B, 3 H] = W c + b, otherwise undefined.
  void forward(const Tensor& word_a, const Tensor& context_a) const {
    const std::int64_t hidden = n_.hidden, gates = 3 * hidden, attention = n_.attention;
    // Contiguous transposes, with which products are fastest.
    const Tensor word_u = inputs_[kWordU].t().contiguous();  // [H, 3 H]
    const Tensor query_context_u = n_.attends() ? at::cat({inputs_[kQuery].t(), inputs_[kContextU].t()}, 1)
                                                : inputs_[kContextU].t().contiguous();       // [H, A + 3 H]
    const Tensor context_w = n_.attends() ? inputs_[kContextW].t().contiguous() : Tensor();  // [D, 3 H]
    const Tensor bias = gru_input_bias(inputs_[kContextBiasW], inputs_[kContextBiasU]);
    order_.for_parts(1, [&](std::int64_t, const Part& part) {
      const std::int64_t most = part.batch_sizes[0];
      const auto options = word_a.options();
      const Tensor u1 = at::empty({most, gates}, options), u2 = at::empty({most, attention + gates}, options);
      const Tensor a2 = n_.attends() ? at::empty({most, gates}, options) : Tensor();
      const Tensor h = inputs_[kState].index_select(0, part.index());
      for (std::size_t t = 0; t < part.batch_sizes.size(); ++t) {
        const std::int64_t n = part.batch_sizes[t], first = part.first_rows[t];
        multiply(u1, h, word_u, n);
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step(row(word_a, first + i), row(u1, i), row(inputs_[kWordBiasU], 0) + 2 * hidden, hidden,
                   row(outputs_[kWordGates], first + i), row(h, i), row(outputs_[kIntermediate], first + i));
        }
        multiply(u2, h, query_context_u, n);
        if (n_.attends()) {
          for (std::int64_t i = 0; i < n; ++i) {
            std::copy_n(row(u2, i), attention, row(outputs_[kQueries], first + i));
            attend(query_of(sentence(part, i), first + i));
          }
          multiply(a2, outputs_[kContexts].narrow(0, first, n), context_w, n);
          a2.narrow(0, 0, n).add_(bias);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step(n_.attends() ? row(a2, i) : row(context_a, sentence(part, i)), row(u2, i) + attention,
                   row(inputs_[kContextBiasU], 0) + 2 * hidden, hidden,
                   row(outputs_[kContextGates], first + i), row(h, i), row(outputs_[kStates], first + i));
        }
      }
    });
  }

  /// `grads` are the gradients of states, contexts and weights.
  void backward(const Tensors& grads, const Gradients& g) const {
    const std::int64_t hidden = n_.hidden, gates = 3 * hidden, attention = n_.attention;
    const Tensor query_context_u =
        n_.attends() ? at::cat({inputs_[kQuery], inputs_[kContextU]}) : inputs_[kContextU];  // [A + 3 H, H]
    order_.for_parts(1, [&](std::int64_t, const Part& part) {
      const std::int64_t most = part.batch_sizes[0];
      const auto options = g.word_a.options();
      const Tensor grad_h = at::zeros({most, hidden}, options);
      const Tensor grad_context = n_.attends() ? at::empty({most, n_.features}, options) : Tensor();
      T* const grad_score = row(g.score, &part - order_.parts.data());
      std::vector<T> constant(n_.attends() ? 0 : static_cast<std::size_t>(gates));
      for (std::size_t t = part.batch_sizes.size(); t-- > 0;) {
        const std::int64_t n = part.batch_sizes[t], first = part.first_rows[t];
        for (std::int64_t i = 0; i < n; ++i) {
          add(row(grads[kStates], first + i), hidden, row(grad_h, i));
          gru_step_backward(row(outputs_[kContextGates], first + i), row(outputs_[kIntermediate], first + i),
                            hidden, row(grad_h, i),
                            n_.attends() ? row(g.context_a, first + i) : constant.data(),
                            row(g.query_context_u, first + i) + attention);
          if (!n_.attends()) add(constant.data(), gates, row(g.context_a, sentence(part, i)));
        }
        if (n_.attends()) {
          multiply(grad_context, g.context_a.narrow(0, first, n), inputs_[kContextW], n);
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t b = sentence(part, i);
            add(row(grads[kContexts], first + i), n_.features, row(grad_context, i));
            attend_backward(
                query_of(b, first + i),
                {row(grad_context, i), row(grads[kWeights], first + i), row(g.query_context_u, first + i),
                 grad_score, row(g.keys, b * n_.positions), row(g.values, b * n_.positions)});
          }
        }
        grad_h.narrow(0, 0, n).addmm_(g.query_context_u.narrow(0, first, n), query_context_u);
        for (std::int64_t i = 0; i < n; ++i) {
          const T* const previous = t == 0 ? row(inputs_[kState], sentence(part, i))
                                           : row(outputs_[kStates], part.first_rows[t - 1] + i);
          std::copy_n(previous, hidden, row(g.previous, first + i));
          gru_step_backward(row(outputs_[kWordGates], first + i), previous, hidden, row(grad_h, i),
                            row(g.word_a, first + i), row(g.word_u, first + i));
        }
        grad_h.narrow(0, 0, n).addmm_(g.word_u.narrow(0, first, n), inputs_[kWordU]);
      }
      g.state.index_copy_(0, part.index(), grad_h);
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
    return {.positions = n_.positions,
            .attention = n_.attention,
            .features = n_.features,
            .mask = mask_.defined() ? mask_.const_data_ptr<bool>() + b * n_.positions : nullptr,
            .query = row(outputs_[kQueries], word),
            .score = row(inputs_[kScore], 0),
            .keys = row(inputs_[kKeys], b * n_.positions),
            .values = row(inputs_[kValues], b * n_.positions),
            .weights = row(outputs_[kWeights], word),
            .context = row(outputs_[kContexts], word)};
  }

  const PackedOrder& order_;
  const Sizes n_;
  const Tensors& inputs_;
  const Tensors& outputs_;
  const Tensor& mask_;
};

/// Hypotheses begin to end, `each` of which share a memory; without attention context_a [B, 3 H] = W c + b.
template <typename T>
void step(const Tensor& x, const Tensor& state, const KeysValues& memory, const Tensor& mask,
          const Tensor& context_a, const ConditionalWeights& weights, std::int64_t begin, std::int64_t end,
          const ConditionalStates& outputs) {
  const c10::InferenceMode guard;
  const std::int64_t n = end - begin, hidden = state.size(1), each = state.size(0) / memory.values.size(0);
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
      const std::int64_t b = (begin + i) / each;
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
    gru_step(a2.defined() ? row_of<T>(a2, i) : row_of<T>(context_a, (begin + i) / each), row_of<T>(u2, i),
             row_of<T>(context[3], 0) + 2 * hidden, hidden, scratch.data(), row_of<T>(h, i),
             row_of<T>(outputs.states, begin + i));
  }
}

}  // namespace

Tensors forward_cpu(const PackedOrder& order, const Tensors& inputs, const Tensor& mask) {
  const Sizes n(inputs);
  const auto options = inputs[kX].options().requires_grad(false);
  const std::int64_t words = inputs[kX].size(0), attending = n.attends() ? words : 0;
  const Tensors outputs{
      at::empty({words, n.hidden}, options),        at::empty({attending, n.features}, options),
      at::empty({attending, n.positions}, options), at::empty({attending, n.attention}, options),
      at::empty({words, n.hidden}, options),        at::empty({words, 4 * n.hidden}, options),
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
  const Gradients g{.word_a = at::empty({words, gates}, options),
                    .word_u = at::empty({words, gates}, options),
                    .query_context_u = at::empty({words, n.attention + gates}, options),
                    .context_a = n.attends() ? at::empty({words, gates}, options)
                                             : at::zeros({inputs[kValues].size(0), gates}, options),
                    .previous = at::empty({words, n.hidden}, options),
                    .state = at::zeros_like(inputs[kState]),
                    .keys = n.attends() ? at::zeros_like(inputs[kKeys]) : Tensor(),
                    .values = n.attends() ? at::zeros_like(inputs[kValues]) : Tensor(),
                    .score = at::zeros({std::ssize(order.parts), n.attention}, options)};
  AT_DISPATCH_FLOATING_TYPES(g.word_a.scalar_type(), "conditional_gru_backward", [&] {
    Pass<scalar_t>(order, inputs, outputs, mask).backward(contiguous_grads, g);
  });
  Tensors grad_inputs(kInputs);
  const auto set_weights = [&](Input w, Input b, const Tensor& grad, const Tensor& x) {
    grad_inputs[w] = grad.t().mm(x);
    grad_inputs[b] = grad.sum(0);
  };
  set_weights(kWordW, kWordBiasW, g.word_a, inputs[kX]);
  set_weights(kWordU, kWordBiasU, g.word_u, g.previous);
  set_weights(kContextU, kContextBiasU, g.query_context_u.narrow(1, n.attention, gates),
              outputs[kIntermediate]);
  set_weights(kContextW, kContextBiasW, g.context_a,
              n.attends() ? outputs[kContexts] : inputs[kValues].select(1, 0));
  if (needs_grad_x) grad_inputs[kX] = g.word_a.mm(inputs[kWordW]);
  grad_inputs[kState] = g.state;
  if (n.attends()) {
    grad_inputs[kQuery] = g.query_context_u.narrow(1, 0, n.attention).t().mm(outputs[kIntermediate]);
    grad_inputs[kScore] = g.score.sum(0, /*keepdim=*/true);
    grad_inputs[kKeys] = g.keys;
    grad_inputs[kValues] = g.values;
  } else {
    grad_inputs[kValues] = g.context_a.mm(inputs[kContextW]).unsqueeze(1);
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
