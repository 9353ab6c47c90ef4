#include "models/translation_decoder.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/nn/conditional_gru.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/recurrent.h"
#include "sentencode/nn/transformer.h"

namespace sentencode::models {

using at::Tensor;
using Given = Anatomy::Given;
using Sentence = Anatomy::Sentence;

Anatomy anatomy_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::attn:
      return {false, Sentence::none, Given::attention};
    case Architecture::final:
      return {false, Sentence::last, Given::begin};
    case Architecture::final_ctx:
      return {false, Sentence::last, Given::constant};
    case Architecture::avgpool:
      return {false, Sentence::mean, Given::begin};
    case Architecture::avgpool_ctx:
      return {false, Sentence::mean, Given::constant};
    case Architecture::maxpool:
      return {false, Sentence::max, Given::begin};
    case Architecture::maxpool_ctx:
      return {false, Sentence::max, Given::constant};
    case Architecture::attn_ctx:
      return {false, Sentence::heads, Given::constant};
    case Architecture::attn_attn:
      return {false, Sentence::heads, Given::attention};
    case Architecture::trf:
      return {true, Sentence::none, Given::attention};
    case Architecture::trf_attn_attn:
      return {true, Sentence::heads, Given::attention};
  }
  throw InternalError("no such architecture");
}

std::int64_t vector_size(const TranslationOptions& o) { return o.size == 0 ? 2 * o.hidden : o.size; }

namespace {

/// What words are told from: tanh(W [s; y; c] + b), as wide as their vectors.
class DeepOutput : public torch::nn::Module {
 public:
  DeepOutput(std::int64_t features, std::int64_t inputs, double dropout)
      : torch::nn::Module("DeepOutput"), dropout_(dropout) {
    linear_ = register_module("linear", nn::xavier_linear(inputs, features));
  }
  Tensor forward(const std::vector<Tensor>& seen) const {
    return at::dropout(at::tanh(linear_->forward(at::cat(seen, -1))), dropout_, nn::trains(*this));
  }

 private:
  double dropout_;
  std::shared_ptr<torch::nn::LinearImpl> linear_;
};

/// h_0 = tanh(W z + b); without z, tanh(b).
class FirstState : public torch::nn::Module {
 public:
  FirstState(std::int64_t code, std::int64_t hidden) : torch::nn::Module("FirstState") {
    if (code > 0) linear_ = register_module("linear", nn::xavier_linear(code, hidden));
    if (code == 0) bias_ = register_parameter("bias", at::zeros({hidden}, at::kFloat));
  }
  Tensor forward(const Tensor& z) const {  // [B, ...] -> [B, H]
    if (linear_ != nullptr) return at::tanh(linear_->forward(z));
    return at::tanh(bias_).expand({z.size(0), -1});
  }

 private:
  std::shared_ptr<torch::nn::LinearImpl> linear_;
  Tensor bias_;
};

/// FINAL and *POOL: a GRU that begins with the sentence. Given {z}.
class BeginDecoder : public TranslationDecoder {
 public:
  explicit BeginDecoder(const TranslationOptions& o) : TranslationDecoder("BeginDecoder") {
    const std::int64_t features = o.words.features, hidden = o.decoder_hidden;
    begin_ = register_module("begin", std::make_shared<FirstState>(vector_size(o), hidden));
    gru_ = register_module("gru", std::make_shared<nn::RecurrentStack>(
                                      nn::RecurrentOptions{.features = features, .hidden = hidden}));
    output_ = register_module("output", std::make_shared<DeepOutput>(features, hidden + features, o.dropout));
  }

  Tensor forward(const nn::DecoderMemory& given, const Sequences& y) const override {
    const Tensor s =
        gru_->forward(y.x, y.host_lengths_or_all(), {begin_->forward(given.at(0)).unsqueeze(1)}).output;
    return output_->forward({s, y.x});  // [B, T, E]
  }

  Tensor weights(const nn::DecoderMemory& /*given*/, const Sequences& /*y*/,
                 std::int64_t /*layer*/) const override {
    throw InternalError("this decoder has no attention");
  }

  nn::DecoderStart start(const nn::DecoderMemory& given) const override {
    return {{}, {begin_->forward(given.at(0)).unsqueeze(1)}};  // [B, 1, H]
  }

  Written step(const Tensor& y, const nn::DecoderMemory& /*memory*/,
               const nn::DecoderCache& cache) const override {
    auto [s, state] = gru_->step(y, cache);  // [N, H]
    return {output_->forward({s, y}), std::move(state), {}};
  }

 private:
  std::shared_ptr<FirstState> begin_;
  std::shared_ptr<nn::RecurrentStack> gru_;
  std::shared_ptr<DeepOutput> output_;
};

/// *-CTX, ATTN and ATTN-ATTN: a conditional GRU that sees the sentence at each word, or attends to its heads,
/// or to all states of the encoder.
class ConditionalDecoder : public TranslationDecoder {
 public:
  explicit ConditionalDecoder(const TranslationOptions& o)
      : TranslationDecoder("ConditionalDecoder"),
        anatomy_(anatomy_of(o.architecture)),
        heads_(o.heads),
        begins_(o.begins_with_sentence || anatomy_.given == Given::constant) {
    const std::int64_t features = o.words.features, hidden = o.decoder_hidden, code = vector_size(o);
    const bool constant = anatomy_.given == Given::constant;
    const std::int64_t seen = attends_to_words() ? 2 * o.hidden : constant ? code : code / o.heads;
    const std::int64_t first = attends_to_words() ? 2 * o.hidden : begins_ ? code : 0;
    begin_ = register_module("begin", std::make_shared<FirstState>(first, hidden));
    gru_ = register_module("gru", std::make_shared<nn::ConditionalGRU>(nn::ConditionalGRUOptions{
                                      features, hidden, seen, constant ? 0 : o.attention}));
    output_ = register_module("output",
                              std::make_shared<DeepOutput>(features, hidden + features + seen, o.dropout));
  }

  Tensor forward(const nn::DecoderMemory& given, const Sequences& y) const override {
    const nn::ConditionalStates s = run(given, y);
    return output_->forward({s.states, y.x, s.contexts});  // [B, T, E]
  }

  Tensor weights(const nn::DecoderMemory& given, const Sequences& y, std::int64_t /*layer*/) const override {
    return run(given, y).weights;  // [B, T, S]
  }

  nn::DecoderStart start(const nn::DecoderMemory& given) const override {
    const nn::KeysValues seen = gru_->project(memory(given), mask(given));
    nn::DecoderMemory kept{seen.keys, seen.values};
    if (attends_to_words()) kept.push_back(given.at(1));
    return {kept, {first(given)}};
  }

  Written step(const Tensor& y, const nn::DecoderMemory& memory,
               const nn::DecoderCache& cache) const override {
    const nn::ConditionalStates s = gru_->step(y, cache.at(0), {memory.at(0), memory.at(1)},
                                               attends_to_words() ? memory.at(2) : Tensor());
    const bool attends = anatomy_.given == Given::attention;
    return {output_->forward({s.states, y, s.contexts}), {s.states}, attends ? s.weights : Tensor()};
  }

 private:
  bool attends_to_words() const { return anatomy_.sentence == Sentence::none; }
  Tensor memory(const nn::DecoderMemory& given) const {
    if (attends_to_words()) return given.at(0);  // H [B, S, 2 hidden]
    return given.at(0).unflatten(1, {anatomy_.given == Given::constant ? 1 : heads_, -1});  // M [B, r, D]
  }
  Tensor mask(const nn::DecoderMemory& given) const { return attends_to_words() ? given.at(1) : Tensor(); }
  Tensor first(const nn::DecoderMemory& given) const {
    return begin_->forward(attends_to_words() ? given.at(2) : given.at(0));  // [B, H]
  }
  nn::ConditionalStates run(const nn::DecoderMemory& given, const Sequences& y) const {
    return gru_->forward(y.x, first(given), memory(given), mask(given), y.lengths_or_all());
  }

  Anatomy anatomy_;
  std::int64_t heads_;
  bool begins_;
  std::shared_ptr<FirstState> begin_;
  std::shared_ptr<nn::ConditionalGRU> gru_;
  std::shared_ptr<DeepOutput> output_;
};

/// TRF and TRF-ATTN-ATTN. Given {H, mask}, or {z}.
class TransformerWriter : public TranslationDecoder {
 public:
  explicit TransformerWriter(const TranslationOptions& o)
      : TranslationDecoder("TransformerWriter"),
        heads_(anatomy_of(o.architecture).sentence == Sentence::heads ? o.heads : 0),
        dropout_(o.dropout),
        scale_(std::sqrt(static_cast<double>(o.words.features))) {
    positions_ = register_module("positions", std::make_shared<nn::Positions>(o.words.features));
    layers_ = register_module("layers", std::make_shared<nn::TransformerDecoder>(nn::TransformerOptions{
                                            .features = o.words.features,
                                            .layers = o.layers,
                                            .heads = o.attention_heads,
                                            .inner = o.inner,
                                            .dropout = o.dropout,
                                            .memory_features = heads_ > 0 ? vector_size(o) / o.heads : 0}));
  }

  Tensor forward(const nn::DecoderMemory& given, const Sequences& y) const override {
    return layers_->forward(input(y.x, 0), memory(given), mask(given));  // [B, T, E]
  }

  Tensor weights(const nn::DecoderMemory& given, const Sequences& y, std::int64_t layer) const override {
    return layers_->weights(input(y.x, 0), memory(given), mask(given), layer);  // [B, T, S]
  }

  nn::DecoderStart start(const nn::DecoderMemory& given) const override {
    nn::DecoderStart found = layers_->start(memory(given), mask(given));
    if (heads_ == 0) found.memory.push_back(given.at(1));
    return found;
  }

  Written step(const Tensor& y, const nn::DecoderMemory& memory,
               const nn::DecoderCache& cache) const override {
    const Tensor x = input(y.unsqueeze(1), nn::TransformerDecoder::length(cache)).squeeze(1);  // [N, E]
    auto [states, after] = layers_->step(x, memory, cache, heads_ == 0 ? memory.back() : Tensor());
    return {states, std::move(after), {}};
  }

 private:
  Tensor input(const Tensor& y, std::int64_t begin) const {
    const Tensor x = scale_ * y;
    return at::dropout(x + positions_->forward(x, begin), dropout_, nn::trains(*this));
  }
  Tensor memory(const nn::DecoderMemory& given) const {
    return heads_ == 0 ? given.at(0) : given.at(0).unflatten(1, {heads_, -1});  // H [B, S, E], M [B, r, D]
  }
  Tensor mask(const nn::DecoderMemory& given) const { return heads_ == 0 ? given.at(1) : Tensor(); }

  std::int64_t heads_;
  double dropout_, scale_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::TransformerDecoder> layers_;
};

}  // namespace

std::shared_ptr<TranslationDecoder> make_translation_decoder(const TranslationOptions& options) {
  const Anatomy anatomy = anatomy_of(options.architecture);
  if (anatomy.transformer) return std::make_shared<TransformerWriter>(options);
  if (anatomy.given == Given::begin) return std::make_shared<BeginDecoder>(options);
  return std::make_shared<ConditionalDecoder>(options);
}

}  // namespace sentencode::models
