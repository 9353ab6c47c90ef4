#include "sentencode/models/translation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <array>
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

constexpr std::array<std::pair<Architecture, std::string_view>, 11> kArchitectures{{
    {Architecture::attn, "attn"},
    {Architecture::final, "final"},
    {Architecture::final_ctx, "final_ctx"},
    {Architecture::avgpool, "avgpool"},
    {Architecture::avgpool_ctx, "avgpool_ctx"},
    {Architecture::maxpool, "maxpool"},
    {Architecture::maxpool_ctx, "maxpool_ctx"},
    {Architecture::attn_ctx, "attn_ctx"},
    {Architecture::attn_attn, "attn_attn"},
    {Architecture::trf, "trf"},
    {Architecture::trf_attn_attn, "trf_attn_attn"},
}};

/// What fits together; before anything is made of it.
const TranslationOptions& checked(const TranslationOptions& o) {
  const Anatomy anatomy = anatomy_of(o.architecture);
  const std::string_view name = name_of(o.architecture);
  ST_CHECK(
      o.source_words >= 1 && o.hidden >= 1 && o.decoder_hidden >= 1 && o.heads >= 1 && o.attention >= 1 &&
          o.layers >= 1 && o.size >= 0,
      InvalidInput,
      "source_words, hidden, decoder_hidden, heads, attention and layers must be at least 1, and size 0; "
      "got ",
      o.source_words, ", ", o.hidden, ", ", o.decoder_hidden, ", ", o.heads, ", ", o.attention, ", ",
      o.layers, " and ", o.size);
  ST_CHECK(o.dropout >= 0 && o.dropout < 1, InvalidInput, "dropout must be at least 0 and less than 1, got ",
           o.dropout);
  if (anatomy.sentence == Anatomy::Sentence::heads) {
    ST_CHECK(vector_size(o) % o.heads == 0, InvalidInput, "architecture='", name,
             "': size must be a multiple of heads, got ", vector_size(o), " and ", o.heads);
  } else {
    ST_CHECK(vector_size(o) == 2 * o.hidden, InvalidInput, "architecture='", name,
             "' has no inner attention: size must be 2 hidden, ", 2 * o.hidden, ", or 0, got ", o.size);
  }
  if (anatomy.transformer) {
    ST_CHECK(o.words.features == 2 * o.hidden, InvalidInput, "architecture='", name,
             "': a Transformer is as wide as words' vectors: hidden must be half of ", o.words.features,
             ", got ", o.hidden);
  }
  return o;
}

}  // namespace

void parse(std::string_view name, Architecture& choice) {
  std::string known;
  for (const auto& [architecture, its_name] : kArchitectures) {
    choice = architecture;
    if (name == its_name) return;
    known += concat(known.empty() ? "'" : ", '", its_name, "'");
  }
  throw InvalidInput(concat("architecture must be one of ", known, ", got '", name, "'"));
}

std::string_view name_of(Architecture choice) {
  return kArchitectures[static_cast<std::size_t>(choice)].second;
}

TranslationNetwork::TranslationNetwork(const TranslationOptions& options)
    : WritingNetwork("TranslationNetwork", checked(options).words, vector_size(options),
                     options.words.features),
      options_(options) {
  const Anatomy anatomy = anatomy_of(options.architecture);
  const std::int64_t features = options.words.features, wide = 2 * options.hidden;
  source_ = register_module(
      "source", std::make_shared<nn::WordEmbedding>(options.source_words, features, /*trainable=*/true));
  if (anatomy.transformer) {
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
  if (anatomy.sentence == Anatomy::Sentence::heads) {
    inner_ = register_module("inner", std::make_shared<nn::AttentionPooling>(
                                          nn::AttentionPoolingOptions{.features = wide,
                                                                      .hidden = options.attention,
                                                                      .heads = options.heads,
                                                                      .scores = nn::Scores::scalar,
                                                                      .activation = nn::Activation::tanh,
                                                                      .bias = false}));
    const std::int64_t each = vector_size(options) / options.heads;
    if (each != wide) project_ = register_module("project", nn::xavier_linear(wide, each));
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

Tensor TranslationNetwork::vector_of(const States& found, const Sequences& s) const {
  switch (anatomy_of(options_.architecture).sentence) {
    case Anatomy::Sentence::last:
      return found.last;
    case Anatomy::Sentence::mean:
      return nn::masked_pooling(found.h, s.key_mask(), nn::Pooling::mean);
    case Anatomy::Sentence::max:
      return nn::masked_pooling(found.h, s.key_mask(), nn::Pooling::max);
    case Anatomy::Sentence::heads: {
      const Tensor m = inner_->forward(found.h, s.lengths_or_all());  // [B, r 2 hidden]  eq. 1, 2
      if (project_ == nullptr) return m;
      // A (H P + b) = (A H) P + b, as the weights of a head add up to one: r rows to project, and not T.
      return project_->forward(m.unflatten(1, {options_.heads, -1})).flatten(1);  // [B, size]
    }
    case Anatomy::Sentence::none:
      break;
  }
  throw InvalidInput(concat("architecture='", name_of(options_.architecture),
                            "' has no vector of a sentence: its decoder attends to the states of all words"));
}

Tensor TranslationNetwork::encode(const Sequences& sentences) {
  return vector_of(states(sentences), sentences);
}

nn::DecoderMemory TranslationNetwork::given(const Sequences& s) const {
  const States found = states(s);
  if (anatomy_of(options_.architecture).sentence != Anatomy::Sentence::none) return {vector_of(found, s)};
  if (transformer_ != nullptr) return {found.h, s.mask};
  return {found.h, s.mask, found.last};
}

nn::DecoderMemory TranslationNetwork::read(const Sequences& sentences) { return given(sentences); }

Tensor TranslationNetwork::told(const nn::DecoderMemory& memory, const training::TokenTensors& words) const {
  const Sequences before = Sequences::of(drop(writer().vectors(writer().before(words.ids))), words.lengths,
                                         words.full, words.host_lengths);
  return decoder_->forward(memory, before);  // [B, T, E]
}

training::Loss TranslationNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 2, "sentences, their translations");
  const training::TokenTensors &x = batch.fields[0], &y = batch.fields[1];
  const Sequences sentences =
      Sequences::of(source_->forward(x.ids), x.lengths, x.full, x.host_lengths);  // [B, T, E]
  const Tensor states = told(given(sentences), y);                                // [B, T', E]
  const nn::WrittenLoss found = writer().loss(states, y.ids, y.full ? Tensor() : y.mask, nn::trains(*this));
  return {found.sum, static_cast<double>(y.tokens), found.correct};
}

nn::DecoderStart TranslationNetwork::start(const nn::DecoderMemory& given) { return decoder_->start(given); }

nn::DecoderStep TranslationNetwork::step(const Tensor& ids, const nn::DecoderMemory& memory,
                                         const nn::DecoderCache& cache) {
  Written written = decoder_->step(drop(writer().vectors(ids)), memory, cache);
  return {writer().logits(written.states), std::move(written.cache), written.weights};
}

Tensor TranslationNetwork::inner_attention(const Sequences& sentences) {
  ST_CHECK(inner_ != nullptr, InvalidInput, "architecture='", name_of(options_.architecture),
           "' has no inner attention");
  return inner_->weights(states(sentences).h, sentences.lengths_or_all());  // [B, r, T]
}

Tensor TranslationNetwork::attention(const nn::DecoderMemory& given, const Tensor& ids, const Tensor& lengths,
                                     std::int64_t layer) {
  ST_CHECK(anatomy_of(options_.architecture).given == Anatomy::Given::attention, InvalidInput,
           "architecture='", name_of(options_.architecture), "': its decoder has no attention");
  const Sequences y = Sequences::of(writer().vectors(writer().before(ids)), lengths);
  return decoder_->weights(given, y, layer);  // [B, T', r or T]
}

}  // namespace sentencode::models
