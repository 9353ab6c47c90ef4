#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sentencode/models/writing_network.h"
#include "sentencode/nn/decoding.h"

namespace torch::nn {
class LinearImpl;
}
namespace sentencode::nn {
class AttentionPooling;
class Positions;
class RecurrentStack;
class TransformerEncoder;
}  // namespace sentencode::nn

namespace sentencode::models {

/// The architectures in Table 1 and section 3.3 of paper 003: how encoder states become a sentence embedding,
/// and how the decoder reads it.
enum class Architecture {
  attn,           // no embedding: the decoder attends to all states
  final,          // the last state of each direction initialises the decoder
  final_ctx,      // and is an input of the decoder at each word
  avgpool,        // the mean of all states initialises the decoder
  avgpool_ctx,    // and is an input at each word
  maxpool,        // their maximum initialises the decoder
  maxpool_ctx,    // and is an input at each word
  attn_ctx,       // inner attention; all heads are an input at each word
  attn_attn,      // inner attention; the decoder attends to the heads: compound attention
  trf,            // a Transformer
  trf_attn_attn,  // a Transformer whose decoder attends to the heads of an inner attention
};

constexpr EnumNames<11> enum_names(Architecture) {
  return {"architecture",
          {"attn", "final", "final_ctx", "avgpool", "avgpool_ctx", "maxpool", "maxpool_ctx", "attn_ctx",
           "attn_attn", "trf", "trf_attn_attn"}};
}

struct TranslationOptions {
  nn::WordWriterOptions words{.trainable_words = true};  // of the target language
  std::int64_t source_words = 0;
  Architecture architecture = Architecture::attn_attn;
  std::int64_t hidden = 128;
  std::int64_t decoder_hidden = 256;
  std::int64_t size = 0;
  std::int64_t heads = 4;        // r
  std::int64_t attention = 128;  // d
  bool begins_with_sentence = false;
  std::int64_t layers = 1;
  std::int64_t attention_heads = 8;
  std::int64_t inner = 512;
  double dropout = 0.1;
};

template <OptionsOf<TranslationOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied, {"Ties the output layer to the target word embeddings."});
  visit("source_words", of.source_words, at_least(1, "Number of word ids of the source language."));
  visit("architecture", of.architecture,
        {"How the decoder reads the sentence. \"attn\" and \"trf\", a Transformer: it attends to all encoder "
         "states, and there is no sentence embedding. \"final\", \"avgpool\", \"maxpool\": the last state of "
         "each direction, the mean or the maximum of all states initialises the decoder, and with \"_ctx\" "
         "is also its input at each word. \"attn_ctx\": the `heads` of an inner attention are an input at "
         "each word. "
         "\"attn_attn\" and \"trf_attn_attn\": the decoder attends to these heads."});
  visit("hidden", of.hidden,
        at_least(1, "Units of each direction of the encoder; of a Transformer half of `features`."));
  visit("decoder_hidden", of.decoder_hidden, at_least(1, "Units of a recurrent decoder."));
  visit(
      "size", of.size,
      at_least(0,
               "Dimensions of a sentence embedding; 0: 2 `hidden`, those of a state. Other sizes require an "
               "inner attention, whose heads are projected to `size` / `heads` dimensions."));
  visit("heads", of.heads, at_least(1, "Heads of the inner attention."));
  visit("attention", of.attention,
        at_least(1, "Hidden units of the inner attention, and of a recurrent decoder's attention."));
  visit(
      "begins_with_sentence", of.begins_with_sentence,
      {"Initialises the decoder of \"attn_attn\" with the sentence embedding, as in the public code; in the "
       "paper it only attends to it."});
  visit("layers", of.layers, at_least(1, "Layers of the encoder, and of a Transformer's decoder."));
  visit("attention_heads", of.attention_heads, at_least(1, "Heads of a Transformer's attentions."));
  visit("inner", of.inner, at_least(1, "Units of a Transformer's feed-forward layers."));
  visit("dropout", of.dropout,
        dropout_probability("Dropout probability of word vectors, states and the inputs of the softmax."));
}

class TranslationDecoder;

/// Compound-attention translation (paper 003, Cifka and Bojar 2018), with all architectures that it compares.
/// Batches have two fields: the source, and the target with its ends.
///
/// In the paper: Table 1; A = softmax(U tanh(W H^T)), M = A H, with projected states H; a conditional GRU, or
/// a plain one if the sentence only initialises the decoder. In its public code: no biases in eq. 2; a
/// projection of the states with bias; softmax inputs tanh(W [s; y; c]), as wide as word vectors;
/// `begins_with_sentence`. Our choice: the initial state is tanh(W z + b); in compound attention without
/// `begins_with_sentence` it is a parameter.
class TranslationNetwork : public WritingNetwork, public nn::Decoder {
 public:
  using Options = TranslationOptions;
  explicit TranslationNetwork(const TranslationOptions& options);
  const TranslationOptions& options() const { return options_; }

  WordInputs word_inputs() const override { return {.ids = options_.source_words}; }
  at::Tensor word_rows(const Words& words) override;
  void load_source_words(const at::Tensor& rows);  // [source_words, E]

  /// The sentence embedding: M, its heads concatenated; or the last, mean or maximal state. InvalidInput for
  /// attn and trf, which have none.
  at::Tensor encode(const Sequences& sentences) override;
  /// The memory of the decoder: {z [B, dim]}; with attn {H [B, T, 2 hidden], mask [B, T], last states
  /// [B, 2 hidden]}; with trf {H, mask}.
  nn::DecoderMemory read(const Sequences& sentences);
  training::Loss loss(const training::TensorBatch& batch) override;

  nn::DecoderStart start(const nn::DecoderMemory& memory) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

  /// A: weights of the words in each head.  -> [B, r, T]; InvalidInput without inner attention
  at::Tensor inner_attention(const Sequences& sentences);
  /// B: weights of the heads, or of the source words, for each target word and the end. With a Transformer
  /// the mean of the heads of one layer. `memory` is that of `read`.
  /// -> [B, T', r or T]; InvalidInput if the decoder has no attention
  at::Tensor attention(const nn::DecoderMemory& memory, const at::Tensor& ids, const at::Tensor& lengths,
                       std::int64_t layer = -1);

 private:
  struct States {
    at::Tensor h;     // [B, T, 2 hidden]
    at::Tensor last;  // [B, 2 hidden]; undefined in a Transformer
  };
  States states(const Sequences& s) const;
  at::Tensor pooled(const States& states, const Sequences& s) const;  // [B, dim]
  at::Tensor drop(const at::Tensor& x) const;

  TranslationOptions options_;
  std::shared_ptr<nn::WordEmbedding> source_;
  std::shared_ptr<nn::RecurrentStack> recurrent_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::TransformerEncoder> transformer_;
  std::shared_ptr<nn::AttentionPooling> inner_;
  std::shared_ptr<torch::nn::LinearImpl> project_;  // of heads; null if they keep their width
  std::shared_ptr<TranslationDecoder> decoder_;
};

}  // namespace sentencode::models
