#include "sentencode/nn/conditional_gru.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <ostream>
#include <vector>

#include "nn/conditional_gru_op.h"
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
      "ConditionalGRU: features, hidden and memory_features must be at least 1, and attention 0, got ",
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
  TORCH_CHECK_VALUE(memory.dim() == 3 && memory.size(1) == 1 && memory.size(2) == options_.memory_features,
                    "ConditionalGRU: without attention memory must be [batch, 1, ", options_.memory_features,
                    "], got ", memory.sizes());
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
  TORCH_CHECK_VALUE(values.dim() == 3 && values.size(1) == 1 && values.size(2) == options_.memory_features,
                    "ConditionalGRU: without attention memory must be [batch, 1, ", options_.memory_features,
                    "], got ", values.sizes());
  const std::int64_t batch = values.size(0);
  TORCH_CHECK_VALUE(batch == 0 ? rows == 0 : rows % batch == 0,
                    "ConditionalGRU: state must have a multiple of the ", batch,
                    " sentences that there is a memory of, got ", rows);
}

std::pair<Tensor, Tensor> ConditionalGRU::look(const Tensor& query, const KeysValues& memory,
                                               const Tensor& memory_mask) const {
  if (attention_ != nullptr) {
    const auto seen = attention_->attend(query.unsqueeze(1), memory, memory_mask);  // [N, 1, D or S]
    return {seen.first.squeeze(1), seen.second.squeeze(1)};
  }
  Tensor context = memory.values.select(1, 0);  // [B, D]
  const std::int64_t rows = query.size(0), batch = context.size(0);
  if (rows != batch) context = context.repeat_interleave(rows / batch, 0);  // [N, D]
  return {context, context.new_ones({rows, 1})};
}

ConditionalStates ConditionalGRU::step(const Tensor& x, const Tensor& state, const KeysValues& memory,
                                       const Tensor& memory_mask) const {
  TORCH_CHECK_VALUE(x.dim() == 2 && x.is_floating_point() && x.size(1) == options_.features,
                    "ConditionalGRU: x of a step must be floating point [batch, ", options_.features,
                    "], got ", x.dtype(), " ", x.sizes());
  TORCH_CHECK_VALUE(state.dim() == 2 && state.size(0) == x.size(0) && state.size(1) == options_.hidden,
                    "ConditionalGRU: state must be [", x.size(0), ", ", options_.hidden, "], got ",
                    state.sizes());
  check_memory(memory, memory_mask, x.size(0));
  const ConditionalWeights used = weights();
  if (!at::GradMode::is_enabled() && x.size(0) > 0 && fits_conditional_gru(x, state, memory, used)) {
    return conditional_gru_step(x, state, memory, memory_mask, used);
  }
  const auto first = word_->step(x, {state.unsqueeze(1)});                // [N, H], [N, 1, H]
  const auto [context, shares] = look(first.first, memory, memory_mask);  // [N, D], [N, S]
  return {context_->step(context, first.second).first, context, shares};  // [N, H], [N, D], [N, S]
}

ConditionalStates ConditionalGRU::forward(const Tensor& x, const Tensor& state, const Tensor& memory,
                                          const Tensor& memory_mask, const Tensor& lengths) const {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point() && x.size(2) == options_.features,
                    "ConditionalGRU: x must be floating point [batch, time, ", options_.features, "], got ",
                    x.dtype(), " ", x.sizes());
  TORCH_CHECK_VALUE(memory.dim() == 3 && memory.size(0) == x.size(0), "ConditionalGRU: memory must be [",
                    x.size(0), ", places, ", options_.memory_features, "], got ", memory.sizes());
  TORCH_CHECK_VALUE(state.dim() == 2 && state.size(0) == x.size(0) && state.size(1) == options_.hidden,
                    "ConditionalGRU: state must be [", x.size(0), ", ", options_.hidden, "], got ",
                    state.sizes());
  const KeysValues projected = project(memory, memory_mask);
  const Sequences words = lengths.defined() ? Sequences::of(x, lengths) : Sequences{x, {}, {}, true};
  if (x.size(1) == 0) {
    return {x.new_zeros({x.size(0), 0, options_.hidden}),
            x.new_zeros({x.size(0), 0, options_.memory_features}),
            x.new_zeros({x.size(0), 0, memory.size(1)})};
  }
  const ConditionalWeights used = weights();
  if (fits_conditional_gru(words.x, state, projected, used)) {
    const std::int64_t batch = x.size(0), time = x.size(1);
    const auto order = std::make_shared<const WordOrder>(words.lengths_or_all(), batch, time, 1);
    const Tensor rows =
        gather_rows(words.x.reshape({batch * time, options_.features}), order->places);  // [N, E]
    ConditionalStates found = conditional_gru(rows, state, projected, memory_mask, order, used);
    const auto padded = [&](const Tensor& of) {  // [B, T, ...]
      return scatter_rows(of, order->places, batch * time).view({batch, time, of.size(1)});
    };
    found.states = padded(found.states);
    if (attention_ != nullptr) {
      found.contexts = padded(found.contexts);
      found.weights = padded(found.weights);
    } else {
      found.contexts = words.with(projected.values.expand({-1, time, -1})).x;
      found.weights = words.with(x.new_ones({batch, time, 1})).x;
    }
    return found;
  }
  std::vector<Tensor> states, contexts, shares;
  Tensor last = state;  // [B, H]
  for (const Tensor& word : words.x.unbind(1)) {
    const ConditionalStates now = step(word, last, projected, memory_mask);
    last = now.states;
    states.push_back(now.states);
    contexts.push_back(now.contexts);
    shares.push_back(now.weights);
  }
  const auto together = [&](const std::vector<Tensor>& parts) {
    return words.with(at::stack(parts, 1)).x;  // [B, T, ...], zero where there is no word
  };
  return {together(states), together(contexts), together(shares)};
}

void ConditionalGRU::pretty_print(std::ostream& out) const {
  out << "ConditionalGRU(features=" << options_.features << ", hidden=" << options_.hidden
      << ", memory_features=" << options_.memory_features << ", attention=" << options_.attention << ")";
}

}  // namespace sentencode::nn
