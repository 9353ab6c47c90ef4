#include "nn/recurrent_inference.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdint>

#include "nn/product.h"
#include "nn/vectorised.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

constexpr std::int64_t kFewSentences = 8;  // of a part, at least

ST_INLINE float sigmoid(float x) { return 1.0F / (1.0F + exponential(-x)); }
ST_INLINE float tanh_of(float x) { return 1.0F - 2.0F / (1.0F + exponential(2.0F * x)); }

/// What a step does to the state of one sentence, of the products a = W x + b and b = W h, [G H] each.
///   r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r (b_n + c)), h = n + z (h - n)
ST_VERSIONS void gru_gates(const float* __restrict a, const float* __restrict b, const float* __restrict c,
                           std::int64_t hidden, float* __restrict h) {
  for (std::int64_t i = 0; i < hidden; ++i) {
    const float r = sigmoid(a[i] + b[i]), z = sigmoid(a[hidden + i] + b[hidden + i]);
    const float n = tanh_of(a[2 * hidden + i] + r * (b[2 * hidden + i] + c[i]));
    h[i] = n + z * (h[i] - n);
  }
}

///   c = s(f) c + s(i) tanh(g), h = s(o) tanh(c), of the sums of both products
ST_VERSIONS void lstm_gates(const float* __restrict a, const float* __restrict b, std::int64_t hidden,
                            float* __restrict h, float* __restrict c) {
  for (std::int64_t k = 0; k < hidden; ++k) {
    const float i = sigmoid(a[k] + b[k]), f = sigmoid(a[hidden + k] + b[hidden + k]);
    const float g = tanh_of(a[2 * hidden + k] + b[2 * hidden + k]);
    const float o = sigmoid(a[3 * hidden + k] + b[3 * hidden + k]);
    c[k] = f * c[k] + i * g;
    h[k] = o * tanh_of(c[k]);
  }
}

/// What all parts read and write. Rows of a tensor [B, ...] follow each other.
struct Job {
  Cell cell;
  std::int64_t time, features, hidden, directions;
  const float* x;
  const std::vector<std::int64_t>& lengths;
  const std::vector<Tensor>& weights;
  const std::vector<float*>& state;  // [B, dirs, H] each; from the begin to the end
  float* output;
};

/// A few more sentences than there are, so that products have few shapes.
std::int64_t rounded(std::int64_t sentences) {
  const std::int64_t multiple = sentences <= 32 ? 8 : 32;
  return (sentences + multiple - 1) / multiple * multiple;
}

/// One direction of the sentences `rows`, the longest first.
void run(const Job& job, std::int64_t direction, const std::vector<std::int64_t>& rows) {
  const c10::InferenceMode guard;
  const std::int64_t hidden = job.hidden, wide = job.directions * hidden;
  const auto length = [&](std::size_t i) { return job.lengths[static_cast<std::size_t>(rows[i])]; };
  const std::int64_t longest = length(0);
  std::vector<std::int64_t> there, first{0};  // sentences with a word t, and where such words begin
  for (std::int64_t t = 0, n = std::ssize(rows); t < longest; ++t) {
    while (length(static_cast<std::size_t>(n - 1)) <= t) --n;
    there.push_back(n);
    first.push_back(first.back() + n);
  }
  const std::int64_t words = first.back();

  const auto* w = job.weights.data() + 4 * direction;
  const bool gru = job.cell == Cell::gru;
  Tensor bias = w[2] + w[3];  // [G H]
  Tensor apart;               // [H], inside r * (...)
  if (gru) {
    bias.narrow(0, 2 * hidden, hidden).copy_(w[2].narrow(0, 2 * hidden, hidden));
    apart = w[3].narrow(0, 2 * hidden, hidden).contiguous();
  }
  const Product of_words(w[0], bias, words, words);
  const Product of_state(w[1], {}, there[0], words);

  Tensor packed = at::empty({words, job.features});  // [N, D], time first
  for (std::int64_t t = 0; t < longest; ++t) {
    for (std::int64_t i = 0; i < there[static_cast<std::size_t>(t)]; ++i) {
      std::copy_n(job.x + (rows[static_cast<std::size_t>(i)] * job.time + t) * job.features, job.features,
                  packed.mutable_data_ptr<float>() + (first[static_cast<std::size_t>(t)] + i) * job.features);
    }
  }
  const Tensor inputs = of_words(packed);  // [N, G H]
  packed.reset();
  const std::int64_t gates = inputs.size(1);
  std::vector<Tensor> states;  // [n, H] each
  for (float* const part : job.state) {
    states.push_back(at::zeros({rounded(std::ssize(rows)), hidden}));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(part + rows[i] * wide + direction * hidden, hidden,
                  states.back().mutable_data_ptr<float>() + static_cast<std::int64_t>(i) * hidden);
    }
  }
  float* const h = states[0].mutable_data_ptr<float>();
  for (std::int64_t step = 0; step < longest; ++step) {
    const std::int64_t t = direction == 0 ? step : longest - 1 - step;
    const std::int64_t n = there[static_cast<std::size_t>(t)];
    const Tensor own = of_state.at_once(states[0].narrow(0, 0, rounded(n)));  // [n or more, G H]
    const float* const a = inputs.const_data_ptr<float>() + first[static_cast<std::size_t>(t)] * gates;
    const float* const b = own.const_data_ptr<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      if (gru) {
        gru_gates(a + i * gates, b + i * gates, apart.const_data_ptr<float>(), hidden, h + i * hidden);
      } else {
        lstm_gates(a + i * gates, b + i * gates, hidden, h + i * hidden,
                   states[1].mutable_data_ptr<float>() + i * hidden);
      }
      std::copy_n(
          h + i * hidden, hidden,
          job.output + (rows[static_cast<std::size_t>(i)] * job.time + t) * wide + direction * hidden);
    }
  }
  for (std::size_t part = 0; part < states.size(); ++part) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(states[part].const_data_ptr<float>() + static_cast<std::int64_t>(i) * hidden, hidden,
                  job.state[part] + rows[i] * wide + direction * hidden);
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
  const std::int64_t hidden = begin[0].size(2);
  std::vector<std::int64_t> long_as(static_cast<std::size_t>(batch), time);
  if (lengths.defined()) {
    const Tensor given = lengths.contiguous();
    std::copy_n(given.const_data_ptr<std::int64_t>(), batch, long_as.begin());
  }
  std::vector<std::int64_t> order;  // without those that have no word
  for (std::int64_t b = 0; b < batch; ++b) {
    if (long_as[static_cast<std::size_t>(b)] > 0) order.push_back(b);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::int64_t b) { return long_as[static_cast<std::size_t>(b)]; });
  const bool full = std::ranges::all_of(long_as, [&](std::int64_t n) { return n == time; });
  const Tensor in = x.contiguous();
  const std::vector<std::int64_t> shape{batch, time, directions * hidden};
  RecurrentOutput found{full ? at::empty(shape, in.options()) : at::zeros(shape, in.options()), {}};
  std::vector<float*> state;
  for (const Tensor& part : begin) {
    found.state.push_back(part.clone(at::MemoryFormat::Contiguous));
    state.push_back(found.state.back().mutable_data_ptr<float>());
  }
  const Job job{cell,       time,
                x.size(2),  hidden,
                directions, in.const_data_ptr<float>(),
                long_as,    weights,
                state,      found.output.mutable_data_ptr<float>()};
  // Every p-th sentence, so that all parts have long and short ones.
  const std::int64_t most = (at::get_num_threads() + directions - 1) / directions;
  const std::int64_t parts = std::clamp<std::int64_t>(std::ssize(order) / kFewSentences, 1, most);
  if (order.empty()) return found;
  at::parallel_for(0, parts * directions, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t item = from; item < to; ++item) {
      std::vector<std::int64_t> rows;
      for (std::int64_t i = item / directions; i < std::ssize(order); i += parts) {
        rows.push_back(order[static_cast<std::size_t>(i)]);
      }
      run(job, item % directions, rows);
    }
  });
  return found;
}

}  // namespace sentencode::nn
