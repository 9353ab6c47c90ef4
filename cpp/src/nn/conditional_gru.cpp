#include "sentencode/nn/conditional_gru.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <ostream>
#include <vector>

#include "nn/checks.h"
#include "nn/ops/conditional_gru/op.h"
#include "nn/rows.h"
#include "sentencode/error.h"
#include "sentencode/nn/sequences.h"

namespace sentencode::nn {

using at::Tensor;

ConditionalGRU::ConditionalGRU(const ConditionalGRUOptions& options)
    : Module("ConditionalGRU"), options_(options) {
  ST_CHECK(
      options.features >= 1 && options.hidden >= 1 && options.memory_features >= 1 && options.attention >= 0,
      InvalidInput,
      "ConditionalGRU: features, hidden and memory_features must be at least 1, and attention at least 0, "
      "got ",
      options.features, ", ", options.hidden, ", ", options.memory_features, " and ", options.attention);
  word_ = register_module("word", std::make_shared<RecurrentStack>(RecurrentOptions{
                                      .features = options.features, .hidden = options.hidden}));
  if (options.attention > 0) {
    attention_ =
        register_module("attention", std::make_shared<AdditiveAttention>(AdditiveAttentionOptions{
                                         options.hidden, options.memory_features, options.attention}));
  }
  context_ = register_module("context", std::make_shared<RecurrentStack>(RecurrentOptions{
                                            .features = options.memory_features, .hidden = options.hidden}));
}

KeysValues ConditionalGRU::project(const Tensor& memory, const Tensor& memory_mask) const {
  if (attention_ != nullptr) return attention_->project(memory, memory_mask);
  check_tensor("ConditionalGRU: without attention, memory", memory, Type::any,
               {"batch", 1, options_.memory_features});
  return {memory, memory};
}

ConditionalWeights ConditionalGRU::weights() const {
  if (attention_ == nullptr) return {word_->weights(0), context_->weights(0), {}, {}};
  return {word_->weights(0), context_->weights(0), attention_->query_weight(), attention_->score_weight()};
}

void ConditionalGRU::check_memory(const KeysValues& memory, const Tensor& memory_mask,
                                  std::int64_t rows) const {
  if (attention_ != nullptr) return attention_->check_memory(memory, memory_mask, rows);
  const Tensor& values = memory.values;
  check_tensor("ConditionalGRU: without attention, memory", values, Type::any,
               {"batch", 1, options_.memory_features});
  const std::int64_t batch = values.size(0);
  TORCH_CHECK_VALUE(batch == 0 ? rows == 0 : rows % batch == 0,
                    "ConditionalGRU: the number of hypotheses must be a multiple of the ", batch,
                    " sentences of the memory, got ", rows);
}

std::pair<Tensor, Tensor> ConditionalGRU::attend(const Tensor& query, const KeysValues& memory,
                                                 const Tensor& memory_mask) const {
  if (attention_ != nullptr) {
    const auto [context, weights] = attention_->attend(query.unsqueeze(1), memory, memory_mask);
    return {context.squeeze(1), weights.squeeze(1)};
  }
  Tensor context = memory.values.select(1, 0);  // [B, D]
  const std::int64_t rows = query.size(0), batch = context.size(0);
  if (rows != batch) context = context.repeat_interleave(rows / batch, 0);  // [N, D]
  return {context, context.new_ones({rows, 1})};
}

ConditionalStates ConditionalGRU::step(const Tensor& x, const Tensor& state, const KeysValues& memory,
                                       const Tensor& memory_mask) const {
  check_tensor("ConditionalGRU: x of a step", x, Type::floating, {"batch", options_.features});
  check_tensor("ConditionalGRU: state", state, Type::any, {x.size(0), options_.hidden});
  check_memory(memory, memory_mask, x.size(0));
  const ConditionalWeights w = weights();
  if (!at::GradMode::is_enabled() && x.size(0) > 0 && supports_conditional_gru(x, state, memory, w)) {
    return conditional_gru_step(x, state, memory, memory_mask, w);
  }
  const auto [query, intermediate] = word_->step(x, {state.unsqueeze(1)});   // [N, H], [N, 1, H]
  const auto [context, attention] = attend(query, memory, memory_mask);      // [N, D], [N, S]
  return {context_->step(context, intermediate).first, context, attention};  // [N, H], [N, D], [N, S]
}

ConditionalStates ConditionalGRU::forward(const Tensor& x, const Tensor& state, const Tensor& memory,
                                          const Tensor& memory_mask, const Tensor& lengths) const {
  check_tensor("ConditionalGRU: x", x, Type::floating, {"batch", "time", options_.features});
  check_tensor("ConditionalGRU: memory", memory, Type::any,
               {x.size(0), "positions", options_.memory_features});
  check_tensor("ConditionalGRU: state", state, Type::any, {x.size(0), options_.hidden});
  const KeysValues projected = project(memory, memory_mask);
  const Sequences words = lengths.defined() ? Sequences::of(x, lengths) : Sequences{x, {}, {}, true};
  if (x.size(1) == 0) {
    return {x.new_zeros({x.size(0), 0, options_.hidden}),
            x.new_zeros({x.size(0), 0, options_.memory_features}),
            x.new_zeros({x.size(0), 0, memory.size(1)})};
  }
  const ConditionalWeights w = weights();
  if (supports_conditional_gru(words.x, state, projected, w)) {
    const std::int64_t batch = x.size(0), time = x.size(1);
    const auto order = std::make_shared<const PackedOrder>(words.lengths_or_all(), batch, time, 1);
    const Tensor rows =
        gather_rows(words.x.reshape({batch * time, options_.features}), order->positions);  // [N, E]
    ConditionalStates outputs = conditional_gru(rows, state, projected, memory_mask, order, w);
    const auto padded = [&](const Tensor& packed) {  // [B, T, ...]
      return scatter_rows(packed, order->positions, batch * time).view({batch, time, packed.size(1)});
    };
    outputs.states = padded(outputs.states);
    if (attention_ != nullptr) {
      outputs.contexts = padded(outputs.contexts);
      outputs.weights = padded(outputs.weights);
    } else {
      outputs.contexts = words.with(projected.values.expand({-1, time, -1})).x;
      outputs.weights = words.with(x.new_ones({batch, time, 1})).x;
    }
    return outputs;
  }
  std::vector<Tensor> states, contexts, attention;
  Tensor previous = state;  // [B, H]
  for (const Tensor& word : words.x.unbind(1)) {
    const ConditionalStates outputs = step(word, previous, projected, memory_mask);
    previous = outputs.states;
    states.push_back(outputs.states);
    contexts.push_back(outputs.contexts);
    attention.push_back(outputs.weights);
  }
  const auto stacked = [&](const std::vector<Tensor>& steps) {
    return words.with(at::stack(steps, 1)).x;  // [B, T, ...], zero at padding
  };
  return {stacked(states), stacked(contexts), stacked(attention)};
}

void ConditionalGRU::pretty_print(std::ostream& out) const {
  out << "ConditionalGRU(features=" << options_.features << ", hidden=" << options_.hidden
      << ", memory_features=" << options_.memory_features << ", attention=" << options_.attention << ")";
}

}  // namespace sentencode::nn
