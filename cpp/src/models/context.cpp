#include "sentencode/models/context.h"

#include <ATen/Functions.h>

#include <utility>

#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

ContextNetwork::ContextNetwork(const ContextOptions& options)
    : WritingNetwork("ContextNetwork", checked(options).words,
                     nn::pooling_width(options.pooling) * 2 * options.hidden, options.words.features),
      options_(options) {
  const bool all_at_once =
      options.decoder.kind == ContextDecoding::cnn || options.decoder.kind == ContextDecoding::rnn;
  ST_CHECK(!all_at_once || options.feeding == Feeding::teacher_forcing, InvalidInput, "feeding='",
           name_of(options.feeding), "' is for autoregressive decoders; decoder='",
           name_of(options.decoder.kind), "' predicts all words at once and has no inputs");
  encoder_ = register_module(
      "encoder", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{.cell = options.cell,
                                                                           .features = options.words.features,
                                                                           .hidden = options.hidden,
                                                                           .bidirectional = true}));
  decoder_ = register_module("decoder", ContextDecoder::make(options.decoder, options.words.features, dim()));
}

Tensor ContextNetwork::encode(const Sequences& s) {
  const auto [h, last] = encoder_->forward(s.x, s.host_lengths_or_all());  // [B, T, d_h], [B, 2, d_h / 2]
  if (options_.pooling == nn::Pooling::last) return last[0].flatten(1);    // [B, d_h]
  return nn::masked_pooling(h, s.key_mask(), options_.pooling);            // [B, dim]  eq. 1
}

Tensor ContextNetwork::decode(const Tensor& z, const Sequences& previous) const {
  check_code(z);
  return decoder_->forward(z, previous);
}

Tensor ContextNetwork::decoder_inputs(const Tensor& z, const Tensor& ids) {
  switch (options_.feeding) {
    case Feeding::teacher_forcing:
      return writer().before(ids);
    case Feeding::always_sampling:
      return writer().drawn_before(*this, {z.detach()}, ids, 1);
    case Feeding::uniform_sampling:
      return writer().before(at::randint(options_.words.words, ids.sizes(), ids.options()));
  }
  throw InternalError("no such feeding");
}

training::Loss ContextNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 2, "sentences, words that follow");
  const training::TokenTensors& words = batch.fields[1];  // w_t
  const std::int64_t most = options_.decoder.predict;
  TORCH_CHECK_VALUE(words.ids.size(1) <= most, "at most predict=", most, " words are predicted, got ",
                    words.ids.size(1));
  const Tensor z = encode(words_of(batch.fields[0]));  // [B, dim]
  Sequences previous;
  if (decoder_->autoregressive()) {
    previous = Sequences::of(writer().vectors(decoder_inputs(z, words.ids)), words.lengths, words.full,
                             words.host_lengths);  // [B, T, E]
  }
  const Tensor u = decode(z, previous).slice(1, 0, words.ids.size(1));  // [B, T, E]
  const nn::WrittenLoss loss = writer().loss(u, words.ids, words.full ? Tensor() : words.mask,
                                             nn::trains(*this));  // eq. 2, 3
  return {loss.sum, static_cast<double>(words.tokens), loss.correct};
}

nn::DecoderStart ContextNetwork::start(const nn::DecoderMemory& memory) {
  check_code(memory.at(0));
  return decoder_->start(memory[0]);
}

nn::DecoderStep ContextNetwork::step(const Tensor& ids, const nn::DecoderMemory& memory,
                                     const nn::DecoderCache& cache) {
  auto [u, next] = decoder_->step(writer().vectors(ids), memory, cache);  // [M, E]
  return {writer().logits(u), std::move(next)};
}

}  // namespace sentencode::models
