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

#include "nn/parameters.h"
#include "nn/recurrent_layer.h"
#include "nn/rows.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

/// Words as LibTorch packs them: the first words of all sentences, then the second ones, the longest sentence
/// first. Sentences without words are not among them.
struct Packing {
  Tensor sizes;      // [steps] on the CPU: how many sentences have a word there
  Tensor places;     // [N]: where in [B T] each is from
  Tensor sentences;  // [B' <= B]
};

/// torch::nn::init::orthogonal_ of a square matrix, whose draws are of torch's default dtype; these are
/// float32.
void orthogonal(const Tensor& weight) {
  const at::NoGradGuard guard;
  auto [q, r] = at::linalg_qr(at::randn(weight.sizes(), at::kFloat));
  weight.copy_(q * r.diagonal().sign());  // uniform among all orthogonal matrices
}

/// Each gate's matrix [H, D or H] begins orthogonal where it is square, else with N(0, 0.01^2).
void begin_orthogonal(const Tensor& weight, std::int64_t hidden) {
  for (const Tensor& of_gate : weight.split(hidden)) {
    if (of_gate.size(1) == hidden) {
      orthogonal(of_gate);
    } else {
      torch::nn::init::normal_(of_gate, 0, 0.01);
    }
  }
}

/// Nothing for sentences that all fill the batch.
std::optional<Packing> packing(const Tensor& x, const Tensor& given) {
  if (!given.defined()) return std::nullopt;
  TORCH_CHECK_VALUE(given.scalar_type() == at::kLong && given.dim() == 1 && given.size(0) == x.size(0),
                    "recurrent: lengths must be int64 [", x.size(0), "], got ", given.dtype(), " ",
                    given.sizes());
  if (x.size(0) == 0) return std::nullopt;
  const Tensor lengths = given.cpu();
  const auto [least, most] = lengths.aminmax();
  const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
  TORCH_CHECK_VALUE(low >= 0 && high <= x.size(1), "recurrent: lengths must be from 0 to ", x.size(1),
                    ", got ", low < 0 ? low : high);
  if (low == x.size(1)) return std::nullopt;
  const WordOrder order(lengths, x.size(0), x.size(1), /*directions=*/0);
  if (order.parts.empty()) return Packing{};
  const WordOrder::Part& part = order.parts.front();
  const auto whole = at::TensorOptions(at::kLong);
  const Tensor both = to_device(at::cat({order.places, at::tensor(part.sentences, whole)}), x.device());
  const std::int64_t words = order.places.size(0);
  return Packing{at::tensor(part.there, whole), both.narrow(0, 0, words),
                 both.narrow(0, words, std::ssize(part.sentences))};
}

/// While it lives, cuDNN does not warn that a layer's weights are tensors of their own: it copies them into
/// one, which takes less than a thousandth of a step.
class QuietAboutWeights : public c10::WarningHandler {
 public:
  QuietAboutWeights() : others_(c10::WarningUtils::get_warning_handler()), guard_(this) {}
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("single contiguous chunk") == std::string::npos) others_->process(warning);
  }

 private:
  c10::WarningHandler* others_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace

Cell parse_cell(std::string_view name) {
  if (name == "gru") return Cell::gru;
  if (name == "lstm") return Cell::lstm;
  throw InvalidInput(concat("cell must be 'gru' or 'lstm', got '", name, "'"));
}

std::string_view cell_name(Cell cell) { return cell == Cell::gru ? "gru" : "lstm"; }

Shortcuts parse_shortcuts(std::string_view name) {
  if (name == "none") return Shortcuts::none;
  if (name == "input") return Shortcuts::input;
  if (name == "all") return Shortcuts::all;
  throw InvalidInput(concat("shortcuts must be 'none', 'input' or 'all', got '", name, "'"));
}

std::string_view shortcuts_name(Shortcuts shortcuts) {
  switch (shortcuts) {
    case Shortcuts::none:
      return "none";
    case Shortcuts::input:
      return "input";
    case Shortcuts::all:
      return "all";
  }
  throw InternalError("no such shortcuts");
}

RecurrentStack::RecurrentStack(const RecurrentOptions& options)
    : Module("RecurrentStack"), options_(options) {
  ST_CHECK(options.features >= 1 && options.hidden >= 1 && options.layers >= 1, InvalidInput,
           "RecurrentStack: features, hidden and layers must be at least 1, got ", options.features, ", ",
           options.hidden, " and ", options.layers);
  ST_CHECK(options.dropout >= 0 && options.dropout < 1, InvalidInput,
           "RecurrentStack: dropout must be at least 0 and less than 1, got ", options.dropout);
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
          begin_orthogonal(weights.back(), options.hidden);
        } else {
          torch::nn::init::zeros_(weights.back());
        }
      };
      add("weight_ih", {gates, input});
      add("weight_hh", {gates, options.hidden});
      add("bias_ih", {gates});
      add("bias_hh", {gates});
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
  for (const Tensor& part : state) {
    TORCH_CHECK_VALUE(part.sizes() == shape, "recurrent: state must be ", at::IntArrayRef(shape), ", got ",
                      part.sizes());
  }
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

/// Words' rows go through all layers as they are, and become a padded batch at the end.
RecurrentOutput RecurrentStack::by_layers(const Tensor& x, const Tensor& lengths,
                                          const RecurrentState& begin) const {
  const std::int64_t batch = x.size(0), time = x.size(1), wide = directions();
  const auto order = std::make_shared<const WordOrder>(lengths, batch, time, wide);
  const Tensor words = gather_rows(x.reshape({batch * time, x.size(2)}), order->places);  // [N, D]
  std::vector<Tensor> outputs;                                                            // [N, dirs H]
  std::vector<std::vector<Tensor>> ends(begin.size());
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    RecurrentState mine;
    for (const Tensor& part : begin)
      mine.push_back(part.narrow(1, static_cast<std::int64_t>(layer) * wide, wide));
    auto [output, end] =
        recurrent_layer(options_.cell, input_of(layer, words, outputs), mine, order, weights_[layer]);
    for (std::size_t part = 0; part < ends.size(); ++part) ends[part].push_back(end[part]);
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? output : at::dropout(output, options_.dropout, trains(*this)));
  }
  RecurrentState state;
  for (const auto& part : ends) state.push_back(at::cat(part, 1));  // [B, L dirs, H]
  return {scatter_rows(outputs.back(), order->places, batch * time).view({batch, time, -1}), state};
}

RecurrentOutput RecurrentStack::forward(const Tensor& x, const Tensor& lengths,
                                        const RecurrentState& state) const {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) == options_.features, "recurrent: x must be [batch, time, ",
                    options_.features, "], got ", x.sizes());
  const std::int64_t batch = x.size(0), time = x.size(1), wide = directions();
  const RecurrentState begin =
      state.empty() ? zero_state(batch, x.options().requires_grad(false)) : state;  // [B, L dirs, H]
  check_state(begin, batch);
  const auto packed = packing(x, lengths);
  if (batch == 0 || time == 0) return {x.new_zeros({batch, time, wide * options_.hidden}), begin};

  if (has_layer(x, weights_.front())) return by_layers(x, lengths, begin);

  if (packed && !packed->places.defined()) {  // no sentence has a word
    return {x.new_zeros({batch, time, wide * options_.hidden}), begin};
  }
  const QuietAboutWeights quiet;
  // Under autocast cuDNN computes in float16, even where bfloat16 was chosen, and sums of gradients overflow.
  // In the weights' type it uses TF32.
  std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
  if (!x.is_cpu()) no_autocast.emplace(c10::autocast_dispatch_keyset);
  Tensor words = x;  // [B, T, D], or packed [N, D]
  if (packed) words = gather_rows(x.reshape({batch * time, x.size(2)}), packed->places);
  // LibTorch's functions keep for backward only when they train; this says nothing of dropout, which is ours.
  const bool train = at::GradMode::is_enabled();
  std::vector<Tensor> outputs, last_h, last_c;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const auto& weights = weights_[layer];
    const auto of_weights = [&](const Tensor& tensor) {
      return x.is_cpu() ? tensor : tensor.to(weights.front().scalar_type());
    };
    const auto mine = [&](const Tensor& part) {
      Tensor own = part.narrow(1, static_cast<std::int64_t>(layer) * wide, wide);  // [B, dirs, H]
      if (packed) own = own.index_select(0, packed->sentences);
      return of_weights(own.transpose(0, 1).contiguous());  // [dirs, B, H]
    };
    const Tensor in = of_weights(input_of(layer, words, outputs));
    Tensor out, h, c;
    if (options_.cell == Cell::gru) {
      std::tie(out, h) = packed ? at::gru(in, packed->sizes, mine(begin[0]), weights, /*has_biases=*/true, 1,
                                          0, train, options_.bidirectional)
                                : at::gru(in, mine(begin[0]), weights, /*has_biases=*/true, 1, 0, train,
                                          options_.bidirectional, /*batch_first=*/true);
    } else {
      const std::vector<Tensor> both{mine(begin[0]), mine(begin[1])};
      std::tie(out, h, c) = packed ? at::lstm(in, packed->sizes, both, weights, /*has_biases=*/true, 1, 0,
                                              train, options_.bidirectional)
                                   : at::lstm(in, both, weights, /*has_biases=*/true, 1, 0, train,
                                              options_.bidirectional, /*batch_first=*/true);
      last_c.push_back(c);
    }
    last_h.push_back(h);  // [dirs, B, H]
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? out : at::dropout(out, options_.dropout, trains(*this)));
  }

  Tensor output = outputs.back();  // [B, T, dirs H], or packed
  if (packed) output = scatter_rows(output, packed->places, batch * time).view({batch, time, -1});
  RecurrentState end;
  for (std::size_t part = 0; part < begin.size(); ++part) {
    Tensor all = at::cat(part == 0 ? last_h : last_c).transpose(0, 1);  // [B, L dirs, H]
    // A sentence without words ends as it began.
    if (packed) all = begin[part].to(all.scalar_type()).index_copy(0, packed->sentences, all);
    end.push_back(all);
  }
  return {output, end};
}

std::pair<Tensor, RecurrentState> RecurrentStack::step(const Tensor& x, const RecurrentState& state) const {
  TORCH_CHECK_VALUE(!options_.bidirectional, "recurrent: a stack of two directions cannot go word by word");
  TORCH_CHECK_VALUE(x.dim() == 2 && x.size(1) == options_.features, "recurrent: x of a step must be [batch, ",
                    options_.features, "], got ", x.sizes());
  check_state(state, x.size(0));
  std::vector<Tensor> outputs, last_h, last_c;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const auto mine = [&](const Tensor& part) { return part.select(1, static_cast<std::int64_t>(layer)); };
    const Tensor in = input_of(layer, x, outputs);
    const auto& w = weights_[layer];
    Tensor h;  // [B, H]
    if (options_.cell == Cell::gru) {
      h = at::gru_cell(in, mine(state[0]), w[0], w[1], w[2], w[3]);
    } else {
      Tensor c;
      std::tie(h, c) = at::lstm_cell(in, {mine(state[0]), mine(state[1])}, w[0], w[1], w[2], w[3]);
      last_c.push_back(c);
    }
    last_h.push_back(h);
    const bool top = layer + 1 == weights_.size();
    outputs.push_back(top ? h : at::dropout(h, options_.dropout, trains(*this)));
  }
  RecurrentState end{at::stack(last_h, 1)};  // [B, L, H]
  if (options_.cell == Cell::lstm) end.push_back(at::stack(last_c, 1));
  return {outputs.back(), end};
}

void RecurrentStack::pretty_print(std::ostream& out) const {
  out << "RecurrentStack(" << cell_name(options_.cell) << ", features=" << options_.features
      << ", hidden=" << options_.hidden << ", layers=" << options_.layers
      << (options_.bidirectional ? ", bidirectional" : "") << ")";
}

}  // namespace sentencode::nn
