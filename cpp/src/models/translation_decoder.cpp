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

ArchitectureParts parts_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::attn:
      return {false, Embedding::none, Conditioning::attention};
    case Architecture::final:
      return {false, Embedding::last, Conditioning::initial};
    case Architecture::final_ctx:
      return {false, Embedding::last, Conditioning::constant};
    case Architecture::avgpool:
      return {false, Embedding::mean, Conditioning::initial};
    case Architecture::avgpool_ctx:
      return {false, Embedding::mean, Conditioning::constant};
    case Architecture::maxpool:
      return {false, Embedding::max, Conditioning::initial};
    case Architecture::maxpool_ctx:
      return {false, Embedding::max, Conditioning::constant};
    case Architecture::attn_ctx:
      return {false, Embedding::heads, Conditioning::constant};
    case Architecture::attn_attn:
      return {false, Embedding::heads, Conditioning::attention};
    case Architecture::trf:
      return {true, Embedding::none, Conditioning::attention};
    case Architecture::trf_attn_attn:
      return {true, Embedding::heads, Conditioning::attention};
  }
  throw InternalError("no such architecture");
}

std::int64_t embedding_size(const TranslationOptions& o) { return o.size == 0 ? 2 * o.hidden : o.size; }

namespace {

/// The inputs of the softmax: tanh(W [s; y; c] + b), as wide as word vectors.
class DeepOutput : public torch::nn::Module {
 public:
  DeepOutput(std::int64_t features, std::int64_t inputs, double dropout)
      : torch::nn::Module("DeepOutput"), dropout_(dropout) {
    linear_ = register_module("linear", nn::xavier_linear(inputs, features));
  }
  Tensor forward(const std::vector<Tensor>& inputs) const {
    return at::dropout(at::tanh(linear_->forward(at::cat(inputs, -1))), dropout_, nn::trains(*this));
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

/// FINAL and *POOL: a GRU that is initialised with the sentence embedding. Memory {z}.
class InitialisedDecoder : public TranslationDecoder {
 public:
  explicit InitialisedDecoder(const TranslationOptions& o) : TranslationDecoder("BeginDecoder") {
    const std::int64_t features = o.words.features, hidden = o.decoder_hidden;
    begin_ = register_module("begin", std::make_shared<FirstState>(embedding_size(o), hidden));
    gru_ = register_module("gru", std::make_shared<nn::RecurrentStack>(
                                      nn::RecurrentOptions{.features = features, .hidden = hidden}));
    output_ = register_module("output", std::make_shared<DeepOutput>(features, hidden + features, o.dropout));
  }

  Tensor forward(const nn::DecoderMemory& memory, const Sequences& y) const override {
    const Tensor s =
        gru_->forward(y.x, y.host_lengths_or_all(), {begin_->forward(memory.at(0)).unsqueeze(1)}).output;
    return output_->forward({s, y.x});  // [B, T, E]
  }

  Tensor weights(const nn::DecoderMemory& /*memory*/, const Sequences& /*y*/,
                 std::int64_t /*layer*/) const override {
    throw InternalError("this decoder has no attention");
  }

  nn::DecoderStart start(const nn::DecoderMemory& memory) const override {
    return {{}, {begin_->forward(memory.at(0)).unsqueeze(1)}};  // [B, 1, H]
  }

  Step step(const Tensor& y, const nn::DecoderMemory& /*memory*/,
            const nn::DecoderCache& cache) const override {
    auto [s, state] = gru_->step(y, cache);  // [N, H]
    return {output_->forward({s, y}), std::move(state), {}};
  }

 private:
  std::shared_ptr<FirstState> begin_;
  std::shared_ptr<nn::RecurrentStack> gru_;
  std::shared_ptr<DeepOutput> output_;
};

/// *-CTX, ATTN and ATTN-ATTN: a conditional GRU, whose input at each word is the sentence embedding, or an
/// attention over its heads or over all encoder states.
class ConditionalDecoder : public TranslationDecoder {
 public:
  explicit ConditionalDecoder(const TranslationOptions& o)
      : TranslationDecoder("ConditionalDecoder"),
        parts_(parts_of(o.architecture)),
        heads_(o.heads),
        initialised_(o.begins_with_sentence || parts_.conditioning == Conditioning::constant) {
    const std::int64_t features = o.words.features, hidden = o.decoder_hidden, size = embedding_size(o);
    const bool constant = parts_.conditioning == Conditioning::constant;
    const std::int64_t context = attends_to_words() ? 2 * o.hidden : constant ? size : size / o.heads;
    const std::int64_t first = attends_to_words() ? 2 * o.hidden : initialised_ ? size : 0;
    begin_ = register_module("begin", std::make_shared<FirstState>(first, hidden));
    gru_ = register_module("gru", std::make_shared<nn::ConditionalGRU>(nn::ConditionalGRUOptions{
                                      features, hidden, context, constant ? 0 : o.attention}));
    output_ = register_module("output",
                              std::make_shared<DeepOutput>(features, hidden + features + context, o.dropout));
  }

  Tensor forward(const nn::DecoderMemory& memory, const Sequences& y) const override {
    const nn::ConditionalStates s = run(memory, y);
    return output_->forward({s.states, y.x, s.contexts});  // [B, T, E]
  }

  Tensor weights(const nn::DecoderMemory& memory, const Sequences& y, std::int64_t /*layer*/) const override {
    return run(memory, y).weights;  // [B, T, S]
  }

  nn::DecoderStart start(const nn::DecoderMemory& memory) const override {
    const nn::KeysValues projected = gru_->project(attended(memory), mask(memory));
    nn::DecoderMemory steps{projected.keys, projected.values};
    if (attends_to_words()) steps.push_back(memory.at(1));
    return {steps, {first(memory)}};
  }

  Step step(const Tensor& y, const nn::DecoderMemory& memory, const nn::DecoderCache& cache) const override {
    const nn::ConditionalStates s = gru_->step(y, cache.at(0), {memory.at(0), memory.at(1)},
                                               attends_to_words() ? memory.at(2) : Tensor());
    const bool attends = parts_.conditioning == Conditioning::attention;
    return {output_->forward({s.states, y, s.contexts}), {s.states}, attends ? s.weights : Tensor()};
  }

 private:
  bool attends_to_words() const { return parts_.embedding == Embedding::none; }
  Tensor attended(const nn::DecoderMemory& memory) const {
    if (attends_to_words()) return memory.at(0);  // H [B, S, 2 hidden]
    const bool constant = parts_.conditioning == Conditioning::constant;
    return memory.at(0).unflatten(1, {constant ? 1 : heads_, -1});  // M [B, r, D]
  }
  Tensor mask(const nn::DecoderMemory& memory) const { return attends_to_words() ? memory.at(1) : Tensor(); }
  Tensor first(const nn::DecoderMemory& memory) const {
    return begin_->forward(attends_to_words() ? memory.at(2) : memory.at(0));  // [B, H]
  }
  nn::ConditionalStates run(const nn::DecoderMemory& memory, const Sequences& y) const {
    return gru_->forward(y.x, first(memory), attended(memory), mask(memory), y.lengths_or_all());
  }

  ArchitectureParts parts_;
  std::int64_t heads_;
  bool initialised_;
  std::shared_ptr<FirstState> begin_;
  std::shared_ptr<nn::ConditionalGRU> gru_;
  std::shared_ptr<DeepOutput> output_;
};

/// TRF and TRF-ATTN-ATTN. Memory {H, mask}, or {z}.
class TransformerDecoder : public TranslationDecoder {
 public:
  explicit TransformerDecoder(const TranslationOptions& o)
      : TranslationDecoder("TransformerWriter"),
        heads_(parts_of(o.architecture).embedding == Embedding::heads ? o.heads : 0),
        dropout_(o.dropout),
        scale_(std::sqrt(static_cast<double>(o.words.features))) {
    positions_ = register_module("positions", std::make_shared<nn::Positions>(o.words.features));
    layers_ =
        register_module("layers", std::make_shared<nn::TransformerDecoder>(nn::TransformerOptions{
                                      .features = o.words.features,
                                      .layers = o.layers,
                                      .heads = o.attention_heads,
                                      .inner = o.inner,
                                      .dropout = o.dropout,
                                      .memory_features = heads_ > 0 ? embedding_size(o) / o.heads : 0}));
  }

  Tensor forward(const nn::DecoderMemory& memory, const Sequences& y) const override {
    return layers_->forward(input(y.x, 0), attended(memory), mask(memory));  // [B, T, E]
  }

  Tensor weights(const nn::DecoderMemory& memory, const Sequences& y, std::int64_t layer) const override {
    return layers_->weights(input(y.x, 0), attended(memory), mask(memory), layer);  // [B, T, S]
  }

  nn::DecoderStart start(const nn::DecoderMemory& memory) const override {
    nn::DecoderStart start = layers_->start(attended(memory), mask(memory));
    if (heads_ == 0) start.memory.push_back(memory.at(1));
    return start;
  }

  Step step(const Tensor& y, const nn::DecoderMemory& memory, const nn::DecoderCache& cache) const override {
    const Tensor x = input(y.unsqueeze(1), nn::TransformerDecoder::length(cache)).squeeze(1);  // [N, E]
    auto [states, after] = layers_->step(x, memory, cache, heads_ == 0 ? memory.back() : Tensor());
    return {states, std::move(after), {}};
  }

 private:
  Tensor input(const Tensor& y, std::int64_t begin) const {
    const Tensor x = scale_ * y;
    return at::dropout(x + positions_->forward(x, begin), dropout_, nn::trains(*this));
  }
  Tensor attended(const nn::DecoderMemory& memory) const {
    return heads_ == 0 ? memory.at(0) : memory.at(0).unflatten(1, {heads_, -1});  // H [B, S, E], M [B, r, D]
  }
  Tensor mask(const nn::DecoderMemory& memory) const { return heads_ == 0 ? memory.at(1) : Tensor(); }

  std::int64_t heads_;
  double dropout_, scale_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::TransformerDecoder> layers_;
};

}  // namespace

std::shared_ptr<TranslationDecoder> make_translation_decoder(const TranslationOptions& options) {
  const ArchitectureParts parts = parts_of(options.architecture);
  if (parts.transformer) return std::make_shared<TransformerDecoder>(options);
  if (parts.conditioning == Conditioning::initial) return std::make_shared<InitialisedDecoder>(options);
  return std::make_shared<ConditionalDecoder>(options);
}

}  // namespace sentencode::models
