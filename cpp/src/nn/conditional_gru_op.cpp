#include "nn/conditional_gru_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "nn/ragged.h"
#include "nn/recurrent_kernels.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
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

/// Rows of each word, by their places in `Parts`.
enum Kept : std::size_t {
  kBefore,        // [N, H], the state before
  kWordGates,     // [N, 4 H]
  kBetween,       // [N, H], the state that asks
  kAsked,         // [N, A], W q of it
  kSeen,          // [N, D], the context
  kContextGates,  // [N, 4 H]
  kWeights,       // [B, T, S]
  kKept,
};

struct Sizes {
  std::int64_t batch, time, hidden, places, attention, features;  // B, T, H, S, A, D
  bool attends() const { return attention > 0; }
};

/// Gradients of rows of words, and of what sentences have.
struct Gradients {
  Tensor a1, b1;        // [N, 3 H]
  Tensor b2;            // [N, A + 3 H], of W q, too
  Tensor a2;            // [N, 3 H]; of constant contexts [B, 3 H]
  Tensor state;         // [B, H]
  Tensor keys, values;  // as they are; undefined of constant contexts
  Tensor score;         // [parts, A]
};

/// The work of both passes. Tensors are contiguous.
template <typename T>
class Pass {
 public:
  Pass(const Parts& parts, const Sizes& sizes, const variable_list& in, const variable_list& kept,
       const Tensor& mask)
      : parts_(parts), n_(sizes), in_(in), kept_(kept), mask_(mask) {}

  /// a1 [N, 3 H] = x W_ih^T + b_ih of the words; a2 [B, 3 H] the like of constant contexts, or undefined.
  void forward(const Tensor& a1, const Tensor& a2, const Tensor& states, const Tensor& contexts) const {
    const std::int64_t hidden = n_.hidden, gates = 3 * hidden, asked = n_.attention;
    // The order in memory in which they are multiplied fastest.
    const Tensor of_before = in_[kWordHh].t().contiguous();  // [H, 3 H]
    const Tensor of_between =
        n_.attends() ? at::cat({in_[kQuery].t(), in_[kContextHh].t()}, 1) : in_[kContextHh].t().contiguous();
    const Tensor of_context = n_.attends() ? in_[kContextIh].t().contiguous() : Tensor();  // [D, 3 H]
    parts_.for_each([&](const Part& part, std::int64_t) {
      const std::int64_t most = part.there[0];
      const auto like = states.options();
      const Tensor b1 = at::empty({most, gates}, like), b2 = at::empty({most, asked + gates}, like);
      const Tensor of_seen = n_.attends() ? at::empty({most, gates}, like) : Tensor();
      Tensor h = at::empty({most, hidden}, like);
      for (std::int64_t i = 0; i < most; ++i) {
        std::copy_n(row(in_[kState], sentence(part, i)), hidden, row(h, i));
      }
      for (std::int64_t t = 0; t < part.longest(); ++t) {
        const std::int64_t n = part.there[place(t)], first = part.first[place(t)];
        multiply(b1, h, of_before, n);
        for (std::int64_t i = 0; i < n; ++i) {
          std::copy_n(row(h, i), hidden, row(kept_[kBefore], first + i));
          gru_step(row(a1, first + i), row(b1, i), row(in_[kWordBiasHh], 0), row(h, i), hidden,
                   row(kept_[kWordGates], first + i), row(kept_[kBetween], first + i));
        }
        multiply(b2, kept_[kBetween].narrow(0, first, n), of_between, n);
        if (n_.attends()) {
          for (std::int64_t i = 0; i < n; ++i) {
            std::copy_n(row(b2, i), asked, row(kept_[kAsked], first + i));
            look(what(sentence(part, i), t, first + i));
            std::copy_n(row(kept_[kSeen], first + i), n_.features, at_word(contexts, sentence(part, i), t));
          }
          multiply(of_seen, kept_[kSeen].narrow(0, first, n), of_context, n);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t b = sentence(part, i);
          T* const a = n_.attends() ? row(of_seen, i) : row(a2, b);
          if (n_.attends()) {
            const T* const bias = row(in_[kContextBiasIh], 0);
            for (std::int64_t k = 0; k < gates; ++k) a[k] += bias[k];
          }
          gru_step(a, row(b2, i) + asked, row(in_[kContextBiasHh], 0), row(kept_[kBetween], first + i),
                   hidden, row(kept_[kContextGates], first + i), row(h, i));
          std::copy_n(row(h, i), hidden, at_word(states, b, t));
        }
      }
    });
  }

  void backward(const variable_list& of, const Gradients& g) const {
    const std::int64_t hidden = n_.hidden, gates = 3 * hidden, asked = n_.attention;
    const Tensor of_between =
        n_.attends() ? at::cat({in_[kQuery], in_[kContextHh]}) : in_[kContextHh];  // [A + 3 H, H]
    parts_.for_each([&](const Part& part, std::int64_t) {
      const std::int64_t most = part.there[0];
      const auto like = g.a1.options();
      const Tensor h = at::zeros({most, hidden}, like), s = at::empty({most, hidden}, like);
      const Tensor context = n_.attends() ? at::empty({most, n_.features}, like) : Tensor();
      std::vector<T> constant(static_cast<std::size_t>(n_.attends() ? 0 : gates));
      for (std::int64_t t = part.longest() - 1; t >= 0; --t) {
        const std::int64_t n = part.there[place(t)], first = part.first[place(t)];
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t b = sentence(part, i);
          T* const of_h = row(h, i);
          const T* const own = at_word(of[0], b, t);
          for (std::int64_t k = 0; k < hidden; ++k) of_h[k] += own[k];
          gru_step_backward(of_h, row(kept_[kContextGates], first + i), row(kept_[kBetween], first + i),
                            hidden, n_.attends() ? row(g.a2, first + i) : constant.data(),
                            row(g.b2, first + i) + asked, row(s, i));
          if (n_.attends()) continue;
          T* const sum = row(g.a2, b);
          for (std::int64_t k = 0; k < gates; ++k) sum[k] += constant[place(k)];
        }
        if (n_.attends()) {
          multiply(context, g.a2.narrow(0, first, n), in_[kContextIh], n);
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t b = sentence(part, i);
            T* const of_context = row(context, i);
            const T* const own = at_word(of[1], b, t);
            for (std::int64_t k = 0; k < n_.features; ++k) of_context[k] += own[k];
            look_backward(what(b, t, first + i),
                          {of_context, at_word(of[2], b, t), row(g.b2, first + i), row(g.score, part.index),
                           row(g.keys, b * n_.places), row(g.values, b * n_.places)});
          }
        }
        s.narrow(0, 0, n).addmm_(g.b2.narrow(0, first, n), of_between);
        for (std::int64_t i = 0; i < n; ++i) {
          gru_step_backward(row(s, i), row(kept_[kWordGates], first + i), row(kept_[kBefore], first + i),
                            hidden, row(g.a1, first + i), row(g.b1, first + i), row(h, i));
        }
        h.narrow(0, 0, n).addmm_(g.b1.narrow(0, first, n), in_[kWordHh]);
      }
      for (std::int64_t i = 0; i < most; ++i) {
        std::copy_n(row(h, i), hidden, row(g.state, sentence(part, i)));
      }
    });
  }

 private:
  static std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }
  static std::int64_t sentence(const Part& part, std::int64_t i) { return part.sentences[place(i)]; }
  static T* row(const Tensor& of, std::int64_t i) { return row_of<T>(of, i); }
  T* at_word(const Tensor& of, std::int64_t b, std::int64_t t) const { return row(of, b * n_.time + t); }
  static void multiply(const Tensor& out, const Tensor& x, const Tensor& w, std::int64_t n) {
    Tensor rows = out.narrow(0, 0, n);
    at::mm_out(rows, x.narrow(0, 0, n), w);
  }
  Look<T> what(std::int64_t b, std::int64_t t, std::int64_t word) const {
    return {.places = n_.places,
            .attention = n_.attention,
            .features = n_.features,
            .shown = mask_.defined() ? mask_.const_data_ptr<bool>() + b * n_.places : nullptr,
            .query = row(kept_[kAsked], word),
            .score = row(in_[kScore], 0),
            .keys = row(in_[kKeys], b * n_.places),
            .values = row(in_[kValues], b * n_.places),
            .weights = at_word(kept_[kWeights], b, t),
            .context = row(kept_[kSeen], word)};
  }

  const Parts& parts_;
  const Sizes& n_;
  const variable_list& in_;
  const variable_list& kept_;
  const Tensor& mask_;
};

class ConditionalGRUFunction : public torch::autograd::Function<ConditionalGRUFunction> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList given, const MaybeTensor& mask,
                               const MaybeTensor& lengths) {
    variable_list in;
    for (const Tensor& part : given) in.push_back(part.contiguous());
    const Sizes n = sizes_of(in);
    const Parts parts(lengths.value_or(Tensor()), n.batch, n.time);
    const auto like = in[kX].options().requires_grad(false);
    const std::int64_t words = parts.words(), seen = n.attends() ? words : 0;
    variable_list kept{at::empty({words, n.hidden}, like),
                       at::empty({words, 4 * n.hidden}, like),
                       at::empty({words, n.hidden}, like),
                       at::empty({seen, n.attention}, like),
                       at::empty({seen, n.features}, like),
                       at::empty({words, 4 * n.hidden}, like),
                       at::zeros({n.batch, n.attends() ? n.time : 0, n.places}, like)};
    const Tensor states = at::zeros({n.batch, n.time, n.hidden}, like);
    const Tensor contexts = at::zeros({n.batch, n.attends() ? n.time : 0, n.features}, like);
    const Tensor a1 = at::addmm(in[kWordBiasIh], parts.pack(in[kX]), in[kWordIh].t());  // [N, 3 H]
    Tensor a2;                                                                          // [B, 3 H]
    if (!n.attends()) {
      a2 = at::addmm(in[kContextBiasIh], in[kValues].select(1, 0), in[kContextIh].t());
    }
    const Tensor shown = mask ? mask->contiguous() : Tensor();
    AT_DISPATCH_FLOATING_TYPES(like.dtype().toScalarType(), "conditional_gru", [&] {
      Pass<scalar_t>(parts, n, in, kept, shown).forward(a1, a2, states, contexts);
    });
    if (!n.attends()) context->mark_non_differentiable({contexts, kept[kWeights]});
    variable_list saved = in;
    saved.insert(saved.end(), {shown, lengths.value_or(Tensor())});
    saved.insert(saved.end(), kept.begin(), kept.end());
    context->save_for_backward(saved);
    context->saved_data["parts"] = parts.count();
    return {states, contexts, kept[kWeights]};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "ConditionalGRU cannot be differentiated twice (create_graph=True)");
    const variable_list saved = context->get_saved_variables();
    const variable_list in(saved.begin(), saved.begin() + kInputs);
    const Tensor &shown = saved[kInputs], &lengths = saved[kInputs + 1];
    const variable_list kept(saved.begin() + kInputs + 2, saved.end());
    const Sizes n = sizes_of(in);
    const Parts parts(lengths, n.batch, n.time, 1, context->saved_data["parts"].toInt());
    const auto like = in[kX].options().requires_grad(false);
    const std::int64_t words = parts.words(), gates = 3 * n.hidden;
    variable_list of;
    for (const Tensor& gradient : gradients) of.push_back(gradient.contiguous());
    const Gradients g{at::empty({words, gates}, like),
                      at::empty({words, gates}, like),
                      at::empty({words, n.attention + gates}, like),
                      n.attends() ? at::empty({words, gates}, like) : at::zeros({n.batch, gates}, like),
                      at::zeros_like(in[kState]),
                      n.attends() ? at::zeros_like(in[kKeys]) : Tensor(),
                      n.attends() ? at::zeros_like(in[kValues]) : Tensor(),
                      at::zeros({parts.count(), n.attention}, like)};
    AT_DISPATCH_FLOATING_TYPES(like.dtype().toScalarType(), "conditional_gru_backward",
                               [&] { Pass<scalar_t>(parts, n, in, kept, shown).backward(of, g); });
    variable_list result(kInputs + 2);  // and nothing of mask and lengths
    if (context->needs_input_grad(kX)) result[kX] = parts.pad(g.a1.mm(in[kWordIh]));
    result[kState] = g.state;
    const auto weights = [&](const Tensor& of_product, const Tensor& x, Input weight, Input bias) {
      result[weight] = of_product.t().mm(x);
      result[bias] = of_product.sum(0);
    };
    const Tensor of_between = g.b2.narrow(1, n.attention, gates);
    weights(g.a1, parts.pack(in[kX]), kWordIh, kWordBiasIh);
    weights(g.b1, kept[kBefore], kWordHh, kWordBiasHh);
    weights(of_between, kept[kBetween], kContextHh, kContextBiasHh);
    weights(g.a2, n.attends() ? kept[kSeen] : in[kValues].select(1, 0), kContextIh, kContextBiasIh);
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

 private:
  static Sizes sizes_of(const variable_list& in) {
    return {.batch = in[kX].size(0),
            .time = in[kX].size(1),
            .hidden = in[kState].size(1),
            .places = in[kValues].size(1),
            .attention = in[kQuery].size(0),
            .features = in[kValues].size(2)};
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
  const Tensor a1 = at::addmm(word[2], x.narrow(0, from, n), word[0].t());  // [n, 3 H]
  const Tensor b1 = state.narrow(0, from, n).mm(word[1].t());               // [n, 3 H]
  const Tensor between = at::empty({n, hidden}, state.options());
  for (std::int64_t i = 0; i < n; ++i) {
    gru_step(row_of<T>(a1, i), row_of<T>(b1, i), row_of<T>(word[3], 0), row_of<T>(state, from + i), hidden,
             static_cast<T*>(nullptr), row_of<T>(between, i));
  }
  const Tensor b2 = between.mm(context[1].t());  // [n, 3 H]
  Tensor of_seen;                                // [n, 3 H]
  if (weights.query.defined()) {
    const Tensor asked = between.mm(weights.query.t());  // [n, A]
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
    of_seen = at::addmm(context[2], found.contexts.narrow(0, from, n), context[0].t());
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const T* const a = of_seen.defined() ? row_of<T>(of_seen, i) : row_of<T>(a2, (from + i) / each);
    gru_step(a, row_of<T>(b2, i), row_of<T>(context[3], 0), row_of<T>(between, i), hidden,
             static_cast<T*>(nullptr), row_of<T>(found.states, from + i));
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
                                  const Tensor& memory_mask, const Tensor& lengths,
                                  const ConditionalWeights& weights) {
  const bool attends = weights.query.defined();
  const Tensor none = at::empty({0}, x.options().requires_grad(false));  // apply wants no undefined one
  variable_list in{x, state, attends ? memory.keys : none, memory.values};
  in.insert(in.end(), weights.word.begin(), weights.word.end());
  in.insert(in.end(), weights.context.begin(), weights.context.end());
  in.insert(in.end(), {attends ? weights.query : none, attends ? weights.score : none});
  const auto maybe = [](const Tensor& of) { return of.defined() ? MaybeTensor(of) : std::nullopt; };
  const variable_list found =
      ConditionalGRUFunction::apply(at::TensorList(in), maybe(memory_mask), maybe(lengths));
  if (attends) return {found[0], found[1], found[2]};
  return {found[0], {}, {}};
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
    a2 = at::addmm(in.context[2], context, in.context[0].t());
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
