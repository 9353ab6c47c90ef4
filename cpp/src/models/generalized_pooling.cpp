#include "sentencode/models/generalized_pooling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <torch/nn/init.h>

#include <cmath>

#include "nn/parameters.h"
#include "sentencode/error.h"
#include "sentencode/nn/character_cnn.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/pooling.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

namespace {

/// The pooling of states alone that has the same name.
nn::Pooling plain(SentencePooling pooling) { return parse_enum<nn::Pooling>(name_of(pooling)); }

}  // namespace

GeneralizedPoolingNetwork::GeneralizedPoolingNetwork(const GeneralizedPoolingOptions& options)
    : SentenceNetwork("GeneralizedPoolingNetwork"), options_(checked(options)) {
  std::int64_t wide = options.features;
  if (options.trainable_words) {
    table_ = register_module("table", std::make_shared<nn::WordEmbedding>(options.words, options.features));
  }
  if (options.characters) {
    characters_ = register_module("characters", std::make_shared<nn::CharacterCnn>(nn::CharacterCnnOptions{
                                                    options.alphabet, options.character_features,
                                                    options.character_filters, options.character_windows}));
    wide += characters_->dim();
  }
  encoder_ = register_module("encoder", std::make_shared<nn::RecurrentStack>(
                                            nn::RecurrentOptions{.cell = nn::Cell::lstm,
                                                                 .features = wide,
                                                                 .hidden = options.hidden,
                                                                 .layers = options.layers,
                                                                 .bidirectional = true,
                                                                 .shortcuts = options.shortcuts,
                                                                 .orthogonal = options.orthogonal}));
  if (options.boundaries) {
    boundaries_ = register_parameter("boundaries", nn::uninitialised({2, wide}));
    torch::nn::init::normal_(boundaries_, 0, 0.01);
  }
  if (!attends()) return;
  const bool vector = options.pooling == SentencePooling::generalized;
  pooling_ = register_module("pooling", std::make_shared<nn::AttentionPooling>(nn::AttentionPoolingOptions{
                                            .features = 2 * options.hidden,
                                            .hidden = options.attention_hidden,
                                            .heads = options.heads,
                                            .scores = vector ? nn::Scores::vector : nn::Scores::scalar,
                                            .activation = options.attention_activation}));
}

bool GeneralizedPoolingNetwork::attends() const {
  return options_.pooling == SentencePooling::generalized || options_.pooling == SentencePooling::scalar;
}

bool GeneralizedPoolingNetwork::penalised() const {
  return attends() && options_.heads > 1 && options_.penalty != nn::Penalty::none;
}

std::int64_t GeneralizedPoolingNetwork::dim() const {
  const std::int64_t pooled = pooling_ != nullptr
                                  ? pooling_->dim()
                                  : nn::pooling_width(plain(options_.pooling)) * 2 * options_.hidden;
  return options_.word_sum ? pooled + options_.features : pooled;
}

WordInputs GeneralizedPoolingNetwork::word_inputs() const {
  if (characters_ != nullptr) return {options_.words, options_.max_characters, options_.alphabet};
  return {.ids = table_ != nullptr ? options_.words : 0};
}

Tensor GeneralizedPoolingNetwork::word_rows(const Words& words) {
  Tensor rows = words.vectors;  // [W, E]
  if (table_ != nullptr) {
    const Tensor other = (words.ids < 0).logical_or(words.ids == options_.words - 1).unsqueeze(1);  // [W, 1]
    rows = at::where(other, rows, table_->forward(words.ids.clamp_min(0)));
  }
  if (characters_ == nullptr) return rows;
  return at::cat({rows, characters_->forward(words.characters)}, 1);  // e_t
}

void GeneralizedPoolingNetwork::load_words(const Tensor& rows) {
  ST_CHECK(table_ != nullptr, InvalidInput, "load_words: the words of this network are not trained");
  table_->load(rows);
}

Sequences GeneralizedPoolingNetwork::bounded(const Sequences& s) const {
  if (!boundaries_.defined()) return s;
  const auto symbol = [&](std::int64_t which) { return boundaries_[which].to(s.x); };  // [e]
  const Tensor positions = at::arange(s.x.size(1) + 2, s.lengths.options());           // [T + 2]
  const auto is_at = [&](const Tensor& t) { return (positions == t).unsqueeze(2).to(s.x.device()); };
  const Tensor begins = is_at(at::zeros_like(s.lengths).unsqueeze(1)),  // [B, T + 2, 1]
      ends = is_at((s.lengths + 1).unsqueeze(1));
  const Tensor words = at::constant_pad_nd(s.x, {0, 0, 1, 1});  // [B, T + 2, e]
  return Sequences::of(at::where(begins, symbol(0), at::where(ends, symbol(1), words)), s.lengths + 2, s.full,
                       s.host_lengths.defined() ? s.host_lengths + 2 : Tensor());
}

GeneralizedPoolingNetwork::States GeneralizedPoolingNetwork::states(const Sequences& s) const {
  const Tensor e = at::dropout(s.x, options_.dropout, nn::trains(*this));  // [B, T, e]
  auto [h, last] = encoder_->forward(e, s.host_lengths_or_all());          // [B, T, 2 d]  eq. 1 to 3
  return {h, last[0].slice(1, 2 * (options_.layers - 1)).flatten(1)};      // [B, 2 d]
}

Tensor GeneralizedPoolingNetwork::pooled(const States& states, const Sequences& s) const {
  if (attends()) return pooling_->forward(states.h, s.lengths_or_all());  // [B, I 2 d]  eq. 5, 6
  if (options_.pooling == SentencePooling::last) return states.last;      // [B, 2 d]
  return nn::masked_pooling(states.h, s.key_mask(), plain(options_.pooling));
}

Tensor GeneralizedPoolingNetwork::embedding(const Tensor& v, const Sequences& sentences) const {
  if (!options_.word_sum) return v;
  const Tensor words = sentences.x.narrow(2, 0, options_.features);                      // [B, T, E]
  const Tensor count = sentences.lengths.clamp_min(1).unsqueeze(1).to(words.options());  // [B, 1]
  return at::cat({v, words.sum(1) / count.sqrt()}, 1);                                   // [B, dim]
}

Tensor GeneralizedPoolingNetwork::encode(const Sequences& sentences) {
  const Sequences s = bounded(sentences);
  return embedding(pooled(states(s), s), sentences);
}

Encoded GeneralizedPoolingNetwork::encode_for_head(const Sequences& sentences, std::int64_t sides) {
  const Sequences s = bounded(sentences);
  const States top = states(s);
  const Tensor heads = pooled(top, s);  // [B, I 2 d]
  Encoded encoded{embedding(heads, sentences)};
  if (!penalised()) return encoded;
  const auto penalty_of = [&](const Tensor& h, const Tensor& lengths, const Tensor& v) {
    return pooling_->penalty(options_.penalty, h, lengths, v, options_.margin, options_.batch_distance);
  };
  Tensor loss, active;
  if (options_.penalty == nn::Penalty::parameters) {
    const nn::HeadPenalty penalty = penalty_of({}, {}, {});  // eq. 7
    loss = penalty.loss;
    active = penalty.active;
  } else {  // eq. 8, 9, summed over the sentences of an example
    const std::int64_t batch = s.x.size(0) / sides;
    for (std::int64_t side = 0; side < sides; ++side) {
      const auto part = [&](const Tensor& x) { return x.narrow(0, side * batch, batch); };
      const nn::HeadPenalty penalty = penalty_of(part(top.h), part(s.lengths), part(heads));
      loss = side == 0 ? penalty.loss : loss + penalty.loss;
      active = side == 0 ? penalty.active : active + penalty.active;
    }
    active = active / sides;
  }
  encoded.penalty = options_.mu * loss;
  encoded.figures = at::stack({at::stack({loss.detach(), active}).to(at::kDouble),
                               at::ones({2}, loss.options().dtype(at::kDouble).requires_grad(false))},
                              1);  // [2, 2]
  return encoded;
}

std::vector<std::string> GeneralizedPoolingNetwork::head_figures() const {
  if (!penalised()) return {};
  return {"penalty", "active"};
}

training::Loss GeneralizedPoolingNetwork::loss(const training::TensorBatch& /*batch*/) {
  throw InvalidInput("GeneralizedPoolingNetwork is trained with a head, such as a classifier");
}

Tensor GeneralizedPoolingNetwork::attention(const Sequences& sentences) const {
  const Sequences s = bounded(sentences);
  const Tensor h = states(s).h;  // [B, T, D]
  if (attends()) {
    const Tensor a = pooling_->weights(h, s.lengths_or_all());
    return a.dim() == 3 ? a.unsqueeze(3) : a;  // [B, I, T, D or 1]
  }
  const Tensor mask = s.mask.unsqueeze(2);                                               // [B, T, 1]
  const Tensor positions = at::arange(h.size(1), s.lengths.options()).view({1, -1, 1});  // [1, T, 1]
  const Tensor uniform = mask.to(h) / s.lengths.clamp_min(1).view({-1, 1, 1});           // [B, T, 1]
  const auto one_at = [&](const Tensor& t) { return (positions == t).logical_and(mask).to(h); };
  const auto maxima = [&] {
    const Tensor masked = h.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
    return one_at(masked.argmax(1, /*keepdim=*/true));  // [B, T, D]
  };
  switch (options_.pooling) {
    case SentencePooling::mean:
      return uniform.unsqueeze(1);
    case SentencePooling::max:
      return maxima().unsqueeze(1);
    case SentencePooling::mean_max:
      return at::stack({uniform.expand_as(h), maxima()}, 1);  // [B, 2, T, D]
    default: {  // the forward state of the last word, the backward state of the first
      const Tensor ends = one_at((s.lengths - 1).view({-1, 1, 1})),
                   begins = one_at(at::zeros_like(positions).slice(1, 0, 1));
      return at::cat({ends.expand({-1, -1, options_.hidden}), begins.expand({-1, -1, options_.hidden})}, 2)
          .unsqueeze(1);  // [B, 1, T, D]
    }
  }
}

}  // namespace sentencode::models
