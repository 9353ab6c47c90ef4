#include "nn/conditional_gru_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "nn/recurrent_kernels.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Part = WordOrder::Part;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// All that goes in, in the order in which gradients come out.
enum Input : std::size_t {
  kX,
  kState,
  kKeys,
  kValues,
  kWordIh,
  kWordHh,
  kWordBiasIh,
  kWordBiasHh,
  kContextIh,
  kContextHh,
  kContextBiasIh,
  kContextBiasHh,
  kQuery,
  kScore,
  kInputs,
};

/// What each word leaves behind, [N, ...]; of contexts, weights and what was asked nothing without attention.
enum Kept : std::size_t {
  kStates,        // [N, H], of the end
  kContexts,      // [N, D]
  kWeights,       // [N, S]
  kAsked,         // [N, A], W q
  kBetween,       // [N, H], the state that asks
  kWordGates,     // [N, 4 H]
  kContextGates,  // [N, 4 H]
  kKept,
};

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

template <typename T>
T* row_of(const Tensor& of, std::int64_t i) {
  return static_cast<T*>(of.data_ptr()) + i * of.size(-1);
}

/// out's first n rows = x's w
void multiply(const Tensor& out, const Tensor& x, const Tensor& w, std::int64_t n) {
  Tensor rows = out.narrow(0, 0, n);
  at::mm_out(rows, x.narrow(0, 0, n), w);
}

/// b_ih, and of b_hh what is not inside r (...): its first two thirds. [3 H]
Tensor bias_of(const Tensor& b_ih, const Tensor& b_hh) {
  Tensor bias = b_ih + b_hh;
  const std::int64_t hidden = bias.size(0) / 3;
  bias.narrow(0, 2 * hidden, hidden).copy_(b_ih.narrow(0, 2 * hidden, hidden));
  return bias;
}

/// What x brings to a GRU's gates, of its weights from `first` on.
Tensor brought(const Tensor& x, const Tensor* const first) {
  return at::addmm(bias_of(first[2], first[3]), x, first[0].t());
}

struct Sizes {
  std::int64_t hidden, places, attention, features;  // H, S, A, D

  explicit Sizes(const variable_list& in)
      : hidden(in[kState].size(1)),
        places(in[kValues].size(1)),
        attention(in[kQuery].size(0)),
        features(in[kValues].size(2)) {}
  bool attends() const { return attention > 0; }
};

/// Gradients of what words bring, and of what sentences have.
struct Gradients {
  Tensor a1, b1;        // [N, 3 H]
  Tensor b2;            // [N, A + 3 H], of W q, too
  Tensor a2;            // [N, 3 H]; of constant contexts [B, 3 H]
  Tensor before;        // [N, H], no gradient: the states that words met
  Tensor state;         // [B, H]
  Tensor keys, values;  // as they are; undefined of constant contexts
  Tensor score;         // [parts, A]
};

/// The work of both passes. Tensors are contiguous.
template <typename T>
class Pass {
 public:
  Pass(const WordOrder& order, const variable_list& in, const variable_list& kept, const Tensor& shown)
      : order_(order), n_(in), in_(in), kept_(kept), shown_(shown) {}

  /// a1 [N, 3 H] is what words bring; a2 [B, 3 H] what constant contexts bring, or undefined.
  void forward(const Tensor& a1, const Tensor& a2) const {
    const std::int64_t hidden = n_.hidden, gates = 3 * hidden, asked = n_.attention;
    // The order in memory in which they are multiplied fastest.
    const Tensor of_before = in_[kWordHh].t().contiguous();  // [H, 3 H]
    const Tensor of_between =
        n_.attends() ? at::cat({in_[kQuery].t(), in_[kContextHh].t()}, 1) : in_[kContextHh].t().contiguous();
    const Tensor of_context = n_.attends() ? in_[kContextIh].t().contiguous() : Tensor();  // [D, 3 H]
    const Tensor bias = bias_of(in_[kContextBiasIh], in_[kContextBiasHh]);
    order_.for_parts(1, [&](std::int64_t, const Part& part) {
      const std::int64_t most = part.there[0];
      const auto like = a1.options();
      const Tensor b1 = at::empty({most, gates}, like), b2 = at::empty({most, asked + gates}, like);
      const Tensor of_seen = n_.attends() ? at::empty({most, gates}, like) : Tensor();
      const Tensor h = at::empty({most, hidden}, like);
      for (std::int64_t i = 0; i < most; ++i) {
        std::copy_n(row(in_[kState], part.sentences[place(i)]), hidden, row(h, i));
      }
      for (std::size_t t = 0; t < part.there.size(); ++t) {
        const std::int64_t n = part.there[t], first = part.first[t];
        multiply(b1, h, of_before, n);
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step(row(kept_[kWordGates], first + i), row(a1, first + i), row(b1, i),
                   row(in_[kWordBiasHh], 0) + 2 * hidden, hidden, row(h, i), row(kept_[kBetween], first + i));
        }
        multiply(b2, h, of_between, n);
        if (n_.attends()) {
          for (std::int64_t i = 0; i < n; ++i) {
            std::copy_n(row(b2, i), asked, row(kept_[kAsked], first + i));
            look(what(part.sentences[place(i)], first + i));
          }
          multiply(of_seen, kept_[kContexts].narrow(0, first, n), of_context, n);
          of_seen.narrow(0, 0, n).add_(bias);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step(row(kept_[kContextGates], first + i),
                   n_.attends() ? row(of_seen, i) : row(a2, part.sentences[place(i)]), row(b2, i) + asked,
                   row(in_[kContextBiasHh], 0) + 2 * hidden, hidden, row(h, i),
                   row(kept_[kStates], first + i));
        }
      }
    });
  }

  /// `of` are the gradients of states, contexts and weights.
  void backward(const variable_list& of, const Gradients& g) const {
    const std::int64_t hidden = n_.hidden, gates = 3 * hidden, asked = n_.attention;
    const Tensor of_between =
        n_.attends() ? at::cat({in_[kQuery], in_[kContextHh]}) : in_[kContextHh];  // [A + 3 H, H]
    order_.for_parts(1, [&](std::int64_t, const Part& part) {
      const std::int64_t most = part.there[0];
      const auto like = g.a1.options();
      const Tensor h = at::zeros({most, hidden}, like);
      const Tensor context = n_.attends() ? at::empty({most, n_.features}, like) : Tensor();
      T* const score = row(g.score, &part - order_.parts.data());
      std::vector<T> constant(place(n_.attends() ? 0 : gates));
      for (std::size_t t = part.there.size(); t-- > 0;) {
        const std::int64_t n = part.there[t], first = part.first[t];
        for (std::int64_t i = 0; i < n; ++i) {
          add(row(of[kStates], first + i), hidden, row(h, i));
          gru_step_backward(row(kept_[kContextGates], first + i), row(kept_[kBetween], first + i), hidden,
                            row(h, i), n_.attends() ? row(g.a2, first + i) : constant.data(),
                            row(g.b2, first + i) + asked);
          if (!n_.attends()) add(constant.data(), gates, row(g.a2, part.sentences[place(i)]));
        }
        if (n_.attends()) {
          multiply(context, g.a2.narrow(0, first, n), in_[kContextIh], n);
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t b = part.sentences[place(i)];
            add(row(of[kContexts], first + i), n_.features, row(context, i));
            look_backward(what(b, first + i),
                          {row(context, i), row(of[kWeights], first + i), row(g.b2, first + i), score,
                           row(g.keys, b * n_.places), row(g.values, b * n_.places)});
          }
        }
        h.narrow(0, 0, n).addmm_(g.b2.narrow(0, first, n), of_between);
        for (std::int64_t i = 0; i < n; ++i) {
          const T* const before = t == 0 ? row(in_[kState], part.sentences[place(i)])
                                         : row(kept_[kStates], part.first[t - 1] + i);
          std::copy_n(before, hidden, row(g.before, first + i));
          gru_step_backward(row(kept_[kWordGates], first + i), before, hidden, row(h, i),
                            row(g.a1, first + i), row(g.b1, first + i));
        }
        h.narrow(0, 0, n).addmm_(g.b1.narrow(0, first, n), in_[kWordHh]);
      }
      for (std::int64_t i = 0; i < most; ++i) {
        std::copy_n(row(h, i), hidden, row(g.state, part.sentences[place(i)]));
      }
    });
  }

 private:
  static T* row(const Tensor& of, std::int64_t i) { return row_of<T>(of, i); }
  static void add(const T* x, std::int64_t count, T* to) {
    for (std::int64_t k = 0; k < count; ++k) to[k] += x[k];
  }
  Look<T> what(std::int64_t b, std::int64_t word) const {
    return {.places = n_.places,
            .attention = n_.attention,
            .features = n_.features,
            .shown = shown_.defined() ? shown_.const_data_ptr<bool>() + b * n_.places : nullptr,
            .query = row(kept_[kAsked], word),
            .score = row(in_[kScore], 0),
            .keys = row(in_[kKeys], b * n_.places),
            .values = row(in_[kValues], b * n_.places),
            .weights = row(kept_[kWeights], word),
            .context = row(kept_[kContexts], word)};
  }

  const WordOrder& order_;
  const Sizes n_;
  const variable_list& in_;
  const variable_list& kept_;
  const Tensor& shown_;
};

class ConditionalGRUFunction : public torch::autograd::Function<ConditionalGRUFunction> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList given, const MaybeTensor& mask,
                               const std::shared_ptr<const WordOrder>& order) {
    variable_list in;
    for (const Tensor& part : given) in.push_back(part.contiguous());
    const Sizes n(in);
    const auto like = in[kX].options().requires_grad(false);
    const std::int64_t words = in[kX].size(0), looking = n.attends() ? words : 0;
    const variable_list kept{at::empty({words, n.hidden}, like),    at::empty({looking, n.features}, like),
                             at::empty({looking, n.places}, like),  at::empty({looking, n.attention}, like),
                             at::empty({words, n.hidden}, like),    at::empty({words, 4 * n.hidden}, like),
                             at::empty({words, 4 * n.hidden}, like)};
    const Tensor a1 = brought(in[kX], &in[kWordIh]);  // [N, 3 H]
    Tensor a2;                                        // [B, 3 H]
    if (!n.attends()) {
      a2 = brought(in[kValues].select(1, 0), &in[kContextIh]);
    }
    const Tensor shown = mask ? mask->contiguous() : Tensor();
    AT_DISPATCH_FLOATING_TYPES(a1.scalar_type(), "conditional_gru",
                               [&] { Pass<scalar_t>(*order, in, kept, shown).forward(a1, a2); });
    if (!n.attends()) context->mark_non_differentiable({kept[kContexts], kept[kWeights]});
    variable_list saved = in;
    saved.push_back(shown);
    saved.insert(saved.end(), kept.begin(), kept.end());
    context->save_for_backward(saved);
    context->saved_data["order"] = kept_order(order);
    return {kept[kStates], kept[kContexts], kept[kWeights]};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "ConditionalGRU cannot be differentiated twice (create_graph=True)");
    const variable_list saved = context->get_saved_variables();
    const variable_list in(saved.begin(), saved.begin() + kInputs);
    const Tensor& shown = saved[kInputs];
    const variable_list kept(saved.begin() + kInputs + 1, saved.end());
    const auto order = order_in(context->saved_data["order"]);
    const Sizes n(in);
    const auto like = in[kX].options().requires_grad(false);
    const std::int64_t words = in[kX].size(0), gates = 3 * n.hidden;
    variable_list of;
    for (const Tensor& gradient : gradients) of.push_back(gradient.contiguous());
    const Gradients g{
        .a1 = at::empty({words, gates}, like),
        .b1 = at::empty({words, gates}, like),
        .b2 = at::empty({words, n.attention + gates}, like),
        .a2 = n.attends() ? at::empty({words, gates}, like) : at::zeros({in[kValues].size(0), gates}, like),
        .before = at::empty({words, n.hidden}, like),
        .state = at::zeros_like(in[kState]),
        .keys = n.attends() ? at::zeros_like(in[kKeys]) : Tensor(),
        .values = n.attends() ? at::zeros_like(in[kValues]) : Tensor(),
        .score = at::zeros({std::ssize(order->parts), n.attention}, like)};
    AT_DISPATCH_FLOATING_TYPES(g.a1.scalar_type(), "conditional_gru_backward",
                               [&] { Pass<scalar_t>(*order, in, kept, shown).backward(of, g); });
    variable_list result(kInputs + 2);  // and nothing of the mask and the order
    const auto weights = [&](const Tensor& of_product, const Tensor& x, Input weight, Input bias) {
      result[weight] = of_product.t().mm(x);
      result[bias] = of_product.sum(0);
    };
    const Tensor of_between = g.b2.narrow(1, n.attention, gates);
    if (context->needs_input_grad(kX)) result[kX] = g.a1.mm(in[kWordIh]);
    result[kState] = g.state;
    weights(g.a1, in[kX], kWordIh, kWordBiasIh);
    weights(g.b1, g.before, kWordHh, kWordBiasHh);
    weights(of_between, kept[kBetween], kContextHh, kContextBiasHh);
    weights(g.a2, n.attends() ? kept[kContexts] : in[kValues].select(1, 0), kContextIh, kContextBiasIh);
    if (n.attends()) {
      result[kQuery] = g.b2.narrow(1, 0, n.attention).t().mm(kept[kBetween]);
      result[kScore] = g.score.sum(0, /*keepdim=*/true);
      result[kKeys] = g.keys;
      result[kValues] = g.values;
    } else {
      result[kValues] = g.a2.mm(in[kContextIh]).unsqueeze(1);
    }
    return result;
  }
};

/// Hypotheses `from` to `to`, of which `each` have one memory; a2 [B, 3 H] is of constant contexts.
template <typename T>
void step(const Tensor& x, const Tensor& state, const KeysValues& memory, const Tensor& shown,
          const Tensor& a2, const ConditionalWeights& weights, std::int64_t from, std::int64_t to,
          const ConditionalStates& found) {
  const c10::InferenceMode guard;
  const std::int64_t n = to - from, hidden = state.size(1), each = state.size(0) / memory.values.size(0);
  const std::int64_t places = memory.values.size(1), features = memory.values.size(2);
  const auto &word = weights.word, &context = weights.context;
  const Tensor a1 = brought(x.narrow(0, from, n), word.data());  // [n, 3 H]
  const Tensor b1 = state.narrow(0, from, n).mm(word[1].t());    // [n, 3 H]
  const Tensor h = state.narrow(0, from, n).clone();             // [n, H]
  std::vector<T> gates(place(4 * hidden)), lost(place(hidden));  // what only gradients need
  for (std::int64_t i = 0; i < n; ++i) {
    gru_step(gates.data(), row_of<T>(a1, i), row_of<T>(b1, i), row_of<T>(word[3], 0) + 2 * hidden, hidden,
             row_of<T>(h, i), lost.data());
  }
  const Tensor b2 = h.mm(context[1].t());  // [n, 3 H]
  Tensor of_seen;                          // [n, 3 H]
  if (weights.query.defined()) {
    const Tensor asked = h.mm(weights.query.t());  // [n, A]
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t b = (from + i) / each;
      look(Look<T>{.places = places,
                   .attention = asked.size(1),
                   .features = features,
                   .shown = shown.defined() ? shown.const_data_ptr<bool>() + b * places : nullptr,
                   .query = row_of<T>(asked, i),
                   .score = row_of<T>(weights.score, 0),
                   .keys = row_of<T>(memory.keys, b * places),
                   .values = row_of<T>(memory.values, b * places),
                   .weights = row_of<T>(found.weights, from + i),
                   .context = row_of<T>(found.contexts, from + i)});
    }
    of_seen = brought(found.contexts.narrow(0, from, n), context.data());
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const T* const a = of_seen.defined() ? row_of<T>(of_seen, i) : row_of<T>(a2, (from + i) / each);
    gru_step(gates.data(), a, row_of<T>(b2, i), row_of<T>(context[3], 0) + 2 * hidden, hidden,
             row_of<T>(h, i), row_of<T>(found.states, from + i));
  }
}

}  // namespace

bool fits_conditional_gru(const Tensor& x, const Tensor& state, const KeysValues& memory,
                          const ConditionalWeights& weights) {
  if (at::autocast::is_autocast_enabled(at::kCPU)) return false;
  const auto type = x.scalar_type();
  if (type != at::kFloat && type != at::kDouble) return false;
  const auto fits = [&](const Tensor& tensor) {
    return !tensor.defined() ||
           (tensor.is_cpu() && tensor.scalar_type() == type && tensor.layout() == at::kStrided);
  };
  return fits(x) && fits(state) && fits(memory.keys) && fits(memory.values) &&
         std::ranges::all_of(weights.word, fits) && std::ranges::all_of(weights.context, fits) &&
         fits(weights.query) && fits(weights.score);
}

ConditionalStates conditional_gru(const Tensor& x, const Tensor& state, const KeysValues& memory,
                                  const Tensor& memory_mask, const std::shared_ptr<const WordOrder>& order,
                                  const ConditionalWeights& weights) {
  const bool attends = weights.query.defined();
  const Tensor none = at::empty({0}, x.options().requires_grad(false));  // apply wants no undefined one
  variable_list in{x, state, attends ? memory.keys : none, memory.values};
  in.insert(in.end(), weights.word.begin(), weights.word.end());
  in.insert(in.end(), weights.context.begin(), weights.context.end());
  in.insert(in.end(), {attends ? weights.query : none, attends ? weights.score : none});
  const auto mask = memory_mask.defined() ? MaybeTensor(memory_mask) : std::nullopt;
  const variable_list found = ConditionalGRUFunction::apply(at::TensorList(in), mask, order);
  if (attends) return {found[kStates], found[kContexts], found[kWeights]};
  return {found[kStates], {}, {}};
}

ConditionalStates conditional_gru_step(const Tensor& x, const Tensor& state, const KeysValues& memory,
                                       const Tensor& memory_mask, const ConditionalWeights& weights) {
  const std::int64_t rows = x.size(0);
  ConditionalWeights in;
  for (const Tensor& weight : weights.word) in.word.push_back(weight.contiguous());
  for (const Tensor& weight : weights.context) in.context.push_back(weight.contiguous());
  const KeysValues seen{memory.keys.contiguous(), memory.values.contiguous()};
  const Tensor shown = memory_mask.defined() ? memory_mask.contiguous() : Tensor();
  const Tensor before = state.contiguous();
  ConditionalStates found{at::empty_like(before), {}, {}};
  Tensor a2;
  if (weights.query.defined()) {
    in.query = weights.query.contiguous();
    in.score = weights.score.contiguous();
    found.contexts = at::empty({rows, seen.values.size(2)}, before.options());
    found.weights = at::empty({rows, seen.values.size(1)}, before.options());
  } else {
    const Tensor context = seen.values.select(1, 0);  // [B, D]
    a2 = brought(context, in.context.data());
    found.contexts = context.repeat_interleave(rows / context.size(0), 0);
    found.weights = before.new_ones({rows, 1});
  }
  const std::int64_t threads = at::get_num_threads();
  at::parallel_for(0, rows, std::max<std::int64_t>(8, (rows + threads - 1) / threads),
                   [&](std::int64_t from, std::int64_t to) {
                     AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "conditional_gru_step", [&] {
                       step<scalar_t>(x, before, seen, shown, a2, in, from, to, found);
                     });
                   });
  return found;
}

}  // namespace sentencode::nn
