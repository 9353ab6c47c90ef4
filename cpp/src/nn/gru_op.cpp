#include "nn/gru_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "nn/ragged.h"
#include "nn/recurrent_kernels.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::size_t kWeights = 4;  // of a direction: W_ih, W_hh, b_ih, b_hh
constexpr std::size_t kGiven = 2;    // x and begin, before them

/// What both passes go over. Rows of words are those of `Parts`, a tensor a direction.
struct Layer {
  const Parts& parts;
  std::int64_t time, hidden, directions;
  variable_list before, gates;  // [N, H], [N, 4 H]

  /// A sentence's numbers of one direction, in a tensor [B, dirs, H] or, at word t, [B, T, dirs H].
  template <typename T>
  T* of_sentence(const Tensor& of, const Part& part, std::int64_t i, std::int64_t direction) const {
    return row_of<T>(of, part.sentences[static_cast<std::size_t>(i)] * directions + direction);
  }
  template <typename T>
  T* at_word(const Tensor& of, const Part& part, std::int64_t i, std::int64_t t,
             std::int64_t direction) const {
    return row_of<T>(of, part.sentences[static_cast<std::size_t>(i)] * time + t) + direction * hidden;
  }
};

/// From a [N, 3 H] = x W_ih^T + b_ih of each direction; state goes from the begin to the end.
template <typename T>
void go(const Layer& layer, const variable_list& a, const variable_list& weights, const Tensor& state,
        const Tensor& output) {
  const std::int64_t hidden = layer.hidden;
  variable_list of_before;  // [H, 3 H], the order in memory in which it is multiplied fastest
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    of_before.push_back(weights[static_cast<std::size_t>(d) * kWeights + 1].t().contiguous());
  }
  layer.parts.for_each([&](const Part& part, std::int64_t direction) {
    const auto d = static_cast<std::size_t>(direction);
    const std::int64_t most = part.there[0];
    const Tensor h = at::empty({most, hidden}, output.options());
    const Tensor b = at::empty({most, 3 * hidden}, output.options());
    const auto* const b_hh = weights[d * kWeights + 3].const_data_ptr<T>();
    for (std::int64_t i = 0; i < most; ++i) {
      std::copy_n(layer.of_sentence<T>(state, part, i, direction), hidden, row_of<T>(h, i));
    }
    for (std::int64_t step = 0; step < part.longest(); ++step) {
      const std::int64_t t = direction == 0 ? step : part.longest() - 1 - step;
      const std::int64_t n = part.there[static_cast<std::size_t>(t)];
      const std::int64_t first = part.first[static_cast<std::size_t>(t)];
      Tensor product = b.narrow(0, 0, n);
      at::mm_out(product, h.narrow(0, 0, n), of_before[d]);
      for (std::int64_t i = 0; i < n; ++i) {
        T* const state_of = row_of<T>(h, i);
        std::copy_n(state_of, hidden, row_of<T>(layer.before[d], first + i));
        gru_step(row_of<T>(a[d], first + i), row_of<T>(b, i), b_hh, state_of, hidden,
                 row_of<T>(layer.gates[d], first + i), state_of);
        std::copy_n(state_of, hidden, layer.at_word<T>(output, part, i, t, direction));
      }
    }
    for (std::int64_t i = 0; i < most; ++i) {
      std::copy_n(row_of<T>(h, i), hidden, layer.of_sentence<T>(state, part, i, direction));
    }
  });
}

/// Of the gradient of the output, the gradients of a and of b = W_hh h [N, 3 H]; that of the end becomes that
/// of the begin.
template <typename T>
void go_back(const Layer& layer, const Tensor& of_output, const variable_list& weights,
             const Tensor& of_state, const variable_list& of_a, const variable_list& of_b) {
  const std::int64_t hidden = layer.hidden;
  layer.parts.for_each([&](const Part& part, std::int64_t direction) {
    const auto d = static_cast<std::size_t>(direction);
    const std::int64_t most = part.there[0];
    const Tensor h = at::empty({most, hidden}, of_output.options());
    for (std::int64_t i = 0; i < most; ++i) {
      std::copy_n(layer.of_sentence<T>(of_state, part, i, direction), hidden, row_of<T>(h, i));
    }
    for (std::int64_t step = 0; step < part.longest(); ++step) {
      const std::int64_t t = direction == 0 ? part.longest() - 1 - step : step;
      const std::int64_t n = part.there[static_cast<std::size_t>(t)];
      const std::int64_t first = part.first[static_cast<std::size_t>(t)];
      for (std::int64_t i = 0; i < n; ++i) {
        T* const of_h = row_of<T>(h, i);
        const T* const own = layer.at_word<T>(of_output, part, i, t, direction);
        for (std::int64_t k = 0; k < hidden; ++k) of_h[k] += own[k];
        gru_step_backward(of_h, row_of<T>(layer.gates[d], first + i), row_of<T>(layer.before[d], first + i),
                          hidden, row_of<T>(of_a[d], first + i), row_of<T>(of_b[d], first + i), of_h);
      }
      h.narrow(0, 0, n).addmm_(of_b[d].narrow(0, first, n), weights[d * kWeights + 1]);
    }
    for (std::int64_t i = 0; i < most; ++i) {
      std::copy_n(row_of<T>(h, i), hidden, layer.of_sentence<T>(of_state, part, i, direction));
    }
  });
}

class GRULayer : public torch::autograd::Function<GRULayer> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList given, const MaybeTensor& lengths) {
    variable_list in;
    for (const Tensor& part : given) in.push_back(part.contiguous());
    const Tensor &x = in[0], &begin = in[1];
    const variable_list weights(in.begin() + kGiven, in.end());
    const std::int64_t directions = begin.size(1), hidden = begin.size(2);
    const Parts parts(lengths.value_or(Tensor()), x.size(0), x.size(1), directions);
    Layer layer{parts, x.size(1), hidden, directions, {}, {}};
    const auto like = x.options().requires_grad(false);
    const Tensor words = parts.pack(x);  // [N, D]
    variable_list a;
    for (std::size_t d = 0; d < static_cast<std::size_t>(directions); ++d) {
      a.push_back(at::addmm(weights[d * kWeights + 2], words, weights[d * kWeights].t()));  // [N, 3 H]
      layer.before.push_back(at::empty({parts.words(), hidden}, like));
      layer.gates.push_back(at::empty({parts.words(), 4 * hidden}, like));
    }
    const Tensor state = begin.clone();  // a sentence without words ends as it began
    const Tensor output = at::zeros({x.size(0), x.size(1), directions * hidden}, like);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gru_layer",
                               [&] { go<scalar_t>(layer, a, weights, state, output); });
    variable_list saved = in;
    saved.push_back(lengths.value_or(Tensor()));
    saved.insert(saved.end(), layer.before.begin(), layer.before.end());
    saved.insert(saved.end(), layer.gates.begin(), layer.gates.end());
    context->save_for_backward(saved);
    context->saved_data["parts"] = parts.count();
    return {output, state};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(),
                                "a GRU on the CPU cannot be differentiated twice (create_graph=True)");
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &begin = saved[1];
    const std::int64_t directions = begin.size(1), hidden = begin.size(2);
    const auto wide = static_cast<std::ptrdiff_t>(directions);
    const auto last = saved.begin() + kGiven + static_cast<std::ptrdiff_t>(kWeights) * wide;
    const variable_list weights(saved.begin() + kGiven, last);
    const Parts parts(*last, x.size(0), x.size(1), directions, context->saved_data["parts"].toInt());
    const Layer layer{
        parts, x.size(1), hidden, directions, {last + 1, last + 1 + wide}, {last + 1 + wide, saved.end()}};
    variable_list of_a, of_b;
    for (std::int64_t d = 0; d < directions; ++d) {
      for (variable_list* const part : {&of_a, &of_b}) {
        part->push_back(at::empty({parts.words(), 3 * hidden}, x.options().requires_grad(false)));
      }
    }
    const Tensor of_state = gradients[1].clone(at::MemoryFormat::Contiguous);
    const Tensor of_output = gradients[0].contiguous();
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gru_layer_backward",
                               [&] { go_back<scalar_t>(layer, of_output, weights, of_state, of_a, of_b); });
    variable_list result(kGiven + weights.size() + 1);  // and nothing of lengths
    const Tensor words = parts.pack(x);                 // [N, D]
    Tensor of_words;
    for (std::size_t d = 0; d < static_cast<std::size_t>(directions); ++d) {
      Tensor* const of = result.data() + kGiven + d * kWeights;
      of[0] = of_a[d].t().mm(words);
      of[1] = of_b[d].t().mm(layer.before[d]);
      of[2] = of_a[d].sum(0);
      of[3] = of_b[d].sum(0);
      if (!context->needs_input_grad(0)) continue;
      if (d == 0) {
        of_words = of_a[d].mm(weights[0]);
      } else {
        of_words.addmm_(of_a[d], weights[d * kWeights]);
      }
    }
    if (of_words.defined()) result[0] = parts.pad(of_words);
    result[1] = of_state;
    return result;
  }
};

}  // namespace

bool fits_gru_layer(const Tensor& x, const Tensor& begin, const std::vector<Tensor>& weights) {
  const auto type = x.scalar_type();
  const auto fits = [&](const Tensor& tensor) {
    return tensor.is_cpu() && tensor.scalar_type() == type && tensor.layout() == at::kStrided;
  };
  return (type == at::kFloat || type == at::kDouble) && !at::autocast::is_autocast_enabled(at::kCPU) &&
         fits(x) && fits(begin) && std::ranges::all_of(weights, fits);
}

RecurrentOutput gru_layer(const Tensor& x, const Tensor& lengths, const RecurrentState& begin,
                          const std::vector<Tensor>& weights) {
  variable_list in{x, begin[0]};
  in.insert(in.end(), weights.begin(), weights.end());
  const auto found =
      GRULayer::apply(at::TensorList(in), lengths.defined() ? MaybeTensor(lengths) : std::nullopt);
  return {found[0], {found[1]}};
}

}  // namespace sentencode::nn
