#include "nn/recurrent_inference.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>

#include "nn/product.h"
#include "nn/ragged.h"
#include "nn/recurrent_kernels.h"
#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

/// An LSTM's step to the state of one sentence, of the products a = W x + b and b = W h, [4 H] each.
///   c = s(f) c + s(i) tanh(g), h = s(o) tanh(c), of the sums of both products
ST_VERSIONS void lstm_gates(const float* __restrict a, const float* __restrict b, std::int64_t hidden,
                            float* __restrict h, float* __restrict c) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const float i = sigmoid(a[k] + b[k]), f = sigmoid(a[hidden + k] + b[hidden + k]);
    const float g = hyperbolic_tangent(a[2 * hidden + k] + b[2 * hidden + k]);
    const float o = sigmoid(a[3 * hidden + k] + b[3 * hidden + k]);
    c[k] = f * c[k] + i * g;
    h[k] = o * hyperbolic_tangent(c[k]);
  }
}

/// A few more sentences than there are, so that products have few shapes.
std::int64_t rounded(std::int64_t sentences) {
  const std::int64_t multiple = sentences <= 32 ? 8 : 32;
  return (sentences + multiple - 1) / multiple * multiple;
}

/// One direction of some sentences: their words x [N, D], those of all parts; W_ih, W_hh, b_ih and b_hh.
/// States [B, dirs, H] go from the begin to the end.
void run(Cell cell, const Part& part, std::int64_t direction, const Tensor& x, const Tensor* const w,
         const RecurrentState& state, const Tensor& output) {
  const std::int64_t hidden = state[0].size(2), wide = state[0].size(1) * hidden, time = output.size(1);
  const std::int64_t words = part.first.back() - part.first[0], most = part.there[0];
  const bool gru = cell == Cell::gru;
  const Tensor b_hh = w[3].contiguous();
  const Product of_words(w[0], gru ? w[2] : w[2] + w[3], words, words);
  const Product of_state(w[1], {}, most, words);
  const Tensor inputs = of_words(x.narrow(0, part.first[0], words));  // [n, G H]
  const std::int64_t gates = inputs.size(1);
  std::vector<Tensor> states;                               // [n or more, H] each
  const auto own = [&](const Tensor& of, std::int64_t i) {  // a sentence's [H] of a state
    return of.mutable_data_ptr<float>() + part.sentences[static_cast<std::size_t>(i)] * wide +
           direction * hidden;
  };
  for (const Tensor& begin : state) {
    states.push_back(at::zeros({rounded(most), hidden}));
    for (std::int64_t i = 0; i < most; ++i) {
      std::copy_n(own(begin, i), hidden, states.back().mutable_data_ptr<float>() + i * hidden);
    }
  }
  float* const h = states[0].mutable_data_ptr<float>();
  for (std::int64_t step = 0; step < part.longest(); ++step) {
    const std::int64_t t = direction == 0 ? step : part.longest() - 1 - step;
    const std::int64_t n = part.there[static_cast<std::size_t>(t)];
    const Tensor recurrent = of_state.at_once(states[0].narrow(0, 0, rounded(n)));  // [n or more, G H]
    const float* const a =
        inputs.const_data_ptr<float>() + (part.first[static_cast<std::size_t>(t)] - part.first[0]) * gates;
    const float* const b = recurrent.const_data_ptr<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      if (gru) {
        gru_step(a + i * gates, b + i * gates, b_hh.const_data_ptr<float>(), h + i * hidden, hidden, nullptr,
                 h + i * hidden);
      } else {
        lstm_gates(a + i * gates, b + i * gates, hidden, h + i * hidden,
                   states[1].mutable_data_ptr<float>() + i * hidden);
      }
      std::copy_n(h + i * hidden, hidden,
                  output.mutable_data_ptr<float>() +
                      (part.sentences[static_cast<std::size_t>(i)] * time + t) * wide + direction * hidden);
    }
  }
  for (std::size_t of = 0; of < states.size(); ++of) {
    for (std::int64_t i = 0; i < most; ++i) {
      std::copy_n(states[of].const_data_ptr<float>() + i * hidden, hidden, own(state[of], i));
    }
  }
}

}  // namespace

bool infers(const Tensor& x, const std::vector<Tensor>& weights) {
  const auto fits = [](const Tensor& tensor) {
    return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
  };
  return !at::GradMode::is_enabled() && !at::autocast::is_autocast_enabled(at::kCPU) && fits(x) &&
         std::ranges::all_of(weights, fits);
}

RecurrentOutput infer_layer(Cell cell, const Tensor& x, const Tensor& lengths, const RecurrentState& begin,
                            const std::vector<Tensor>& weights) {
  const std::int64_t batch = x.size(0), time = x.size(1), directions = begin[0].size(1);
  const Parts parts(lengths, batch, time, directions);
  const std::vector<std::int64_t> shape{batch, time, directions * begin[0].size(2)};
  RecurrentOutput found{
      parts.words() == batch * time ? at::empty(shape, x.options()) : at::zeros(shape, x.options()), {}};
  for (const Tensor& part : begin) found.state.push_back(part.clone(at::MemoryFormat::Contiguous));
  const Tensor words = parts.pack(x);  // [N, D]
  parts.for_each([&](const Part& part, std::int64_t direction) {
    run(cell, part, direction, words, weights.data() + 4 * direction, found.state, found.output);
  });
  return found;
}

}  // namespace sentencode::nn
