#include "sentencode/models/translation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <string>
#include <utility>

#include "models/translation_decoder.h"
#include "sentencode/error.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/generalized_pooling.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/pooling.h"
#include "sentencode/nn/recurrent.h"
#include "sentencode/nn/transformer.h"

namespace sentencode::models {

using at::Tensor;

namespace {

/// Checks which options fit together, before layers are made.
const TranslationOptions& checked_together(const TranslationOptions& o) {
  const ArchitectureParts parts = parts_of(checked(o).architecture);
  const std::string_view name = name_of(o.architecture);
  if (parts.embedding == Embedding::heads) {
    ST_CHECK(embedding_size(o) % o.heads == 0, InvalidInput, "architecture='", name,
             "': size must be a multiple of heads, got ", embedding_size(o), " and ", o.heads);
  } else {
    ST_CHECK(embedding_size(o) == 2 * o.hidden, InvalidInput, "architecture='", name,
             "' has no inner attention: size must be 2 hidden, ", 2 * o.hidden, ", or 0, got ", o.size);
  }
  if (parts.transformer) {
    ST_CHECK(o.words.features == 2 * o.hidden, InvalidInput, "architecture='", name,
             "': a Transformer is as wide as word vectors: hidden must be half of ", o.words.features,
             ", got ", o.hidden);
  }
  return o;
}

}  // namespace

TranslationNetwork::TranslationNetwork(const TranslationOptions& options)
    : WritingNetwork("TranslationNetwork", checked_together(options).words, embedding_size(options),
                     options.words.features),
      options_(options) {
  const ArchitectureParts parts = parts_of(options.architecture);
  const std::int64_t features = options.words.features, width = 2 * options.hidden;
  source_ = register_module(
      "source", std::make_shared<nn::WordEmbedding>(options.source_words, features, /*trainable=*/true));
  if (parts.transformer) {
    positions_ = register_module("positions", std::make_shared<nn::Positions>(features));
    transformer_ = register_module("encoder", std::make_shared<nn::TransformerEncoder>(
                                                  nn::TransformerOptions{.features = features,
                                                                         .layers = options.layers,
                                                                         .heads = options.attention_heads,
                                                                         .inner = options.inner,
                                                                         .dropout = options.dropout}));
  } else {
    recurrent_ = register_module("encoder", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                                .features = features,
                                                .hidden = options.hidden,
                                                .layers = options.layers,
                                                .bidirectional = true,
                                                .dropout = options.layers > 1 ? options.dropout : 0}));
  }
  if (parts.embedding == Embedding::heads) {
    inner_ = register_module("inner", std::make_shared<nn::AttentionPooling>(
                                          nn::AttentionPoolingOptions{.features = width,
                                                                      .hidden = options.attention,
                                                                      .heads = options.heads,
                                                                      .scores = nn::Scores::scalar,
                                                                      .activation = nn::Activation::tanh,
                                                                      .bias = false}));
    const std::int64_t each = embedding_size(options) / options.heads;
    if (each != width) project_ = register_module("project", nn::xavier_linear(width, each));
  }
  decoder_ = register_module("decoder", make_translation_decoder(options));
}

Tensor TranslationNetwork::drop(const Tensor& x) const {
  return at::dropout(x, options_.dropout, nn::trains(*this));
}

Tensor TranslationNetwork::word_rows(const Words& words) {
  const Tensor rows = source_->forward(words.ids.clamp_min(0));  // [W, E]
  return at::where((words.ids >= 0).unsqueeze(1), rows, words.vectors);
}

void TranslationNetwork::load_source_words(const Tensor& rows) { source_->load(rows); }

TranslationNetwork::States TranslationNetwork::states(const Sequences& s) const {
  if (transformer_ != nullptr) {
    const Tensor x = std::sqrt(static_cast<double>(options_.words.features)) * s.x;
    return {transformer_->forward(drop(x + positions_->forward(x)), s.key_mask()), {}};  // [B, T, E]
  }
  auto [h, last] = recurrent_->forward(drop(s.x), s.host_lengths_or_all());
  const Tensor ends = last[0].slice(1, 2 * (options_.layers - 1)).flatten(1);
  return {drop(h), drop(ends)};  // [B, T, 2 hidden], [B, 2 hidden]
}

Tensor TranslationNetwork::pooled(const States& states, const Sequences& s) const {
  switch (parts_of(options_.architecture).embedding) {
    case Embedding::last:
      return states.last;
    case Embedding::mean:
      return nn::masked_pooling(states.h, s.key_mask(), nn::Pooling::mean);
    case Embedding::max:
      return nn::masked_pooling(states.h, s.key_mask(), nn::Pooling::max);
    case Embedding::heads: {
      const Tensor m = inner_->forward(states.h, s.lengths_or_all());  // [B, r 2 hidden]  eq. 1, 2
      if (project_ == nullptr) return m;
      // The weights of a head sum to 1, so A (H P + b) = (A H) P + b: project r heads instead of T states.
      return project_->forward(m.unflatten(1, {options_.heads, -1})).flatten(1);  // [B, size]
    }
    case Embedding::none:
      break;
  }
  throw InvalidInput(concat("architecture='", name_of(options_.architecture),
                            "' has no sentence embedding: its decoder attends to the states of all words"));
}

Tensor TranslationNetwork::encode(const Sequences& sentences) { return pooled(states(sentences), sentences); }

nn::DecoderMemory TranslationNetwork::read(const Sequences& sentences) {
  const States h = states(sentences);
  if (parts_of(options_.architecture).embedding != Embedding::none) return {pooled(h, sentences)};
  if (transformer_ != nullptr) return {h.h, sentences.mask};
  return {h.h, sentences.mask, h.last};
}

training::Loss TranslationNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 2, "sentences, their translations");
  const training::TokenTensors &x = batch.fields[0], &y = batch.fields[1];
  const Sequences source =
      Sequences::of(source_->forward(x.ids), x.lengths, x.full, x.host_lengths);  // [B, T, E]
  const Sequences previous = Sequences::of(drop(writer().vectors(writer().before(y.ids))), y.lengths, y.full,
                                           y.host_lengths);         // [B, T', E]
  const Tensor states = decoder_->forward(read(source), previous);  // [B, T', E]
  const nn::WrittenLoss loss = writer().loss(states, y.ids, y.full ? Tensor() : y.mask, nn::trains(*this));
  return {loss.sum, static_cast<double>(y.tokens), loss.correct};
}

nn::DecoderStart TranslationNetwork::start(const nn::DecoderMemory& memory) {
  return decoder_->start(memory);
}

nn::DecoderStep TranslationNetwork::step(const Tensor& ids, const nn::DecoderMemory& memory,
                                         const nn::DecoderCache& cache) {
  TranslationDecoder::Step step = decoder_->step(drop(writer().vectors(ids)), memory, cache);
  return {writer().logits(step.states), std::move(step.cache), step.weights};
}

Tensor TranslationNetwork::inner_attention(const Sequences& sentences) {
  ST_CHECK(inner_ != nullptr, InvalidInput, "architecture='", name_of(options_.architecture),
           "' has no inner attention");
  return inner_->weights(states(sentences).h, sentences.lengths_or_all());  // [B, r, T]
}

Tensor TranslationNetwork::attention(const nn::DecoderMemory& memory, const Tensor& ids,
                                     const Tensor& lengths, std::int64_t layer) {
  ST_CHECK(parts_of(options_.architecture).conditioning == Conditioning::attention, InvalidInput,
           "architecture='", name_of(options_.architecture), "': its decoder has no attention");
  const Sequences previous = Sequences::of(writer().vectors(writer().before(ids)), lengths);
  return decoder_->weights(memory, previous, layer);  // [B, T', r or T]
}

}  // namespace sentencode::models
