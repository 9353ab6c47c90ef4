#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
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

/// Table 1 of paper 003, and section 3.3: which encoder states are used, how they are combined, and how the
/// decoder gets them.
enum class Architecture {
  attn,           // all states; the decoder attends to them: there is no sentence vector
  final,          // the last state of each direction begins the decoder
  final_ctx,      // and is seen by the decoder at each word
  avgpool,        // the mean of all states begins the decoder
  avgpool_ctx,    // and is seen at each word
  maxpool,        // their maximum begins the decoder
  maxpool_ctx,    // and is seen at each word
  attn_ctx,       // inner attention; all heads are seen at each word
  attn_attn,      // inner attention; the decoder attends to the heads: compound attention
  trf,            // a Transformer
  trf_attn_attn,  // one whose decoder attends to the heads of an inner attention
};

void parse(std::string_view name, Architecture& choice);  // InvalidInput names the choices
std::string_view name_of(Architecture choice);

struct TranslationOptions {
  nn::WordWriterOptions words{.trainable_words = true};  // of the target language
  std::int64_t source_words = 0;                         // rows of the source language's table
  Architecture architecture = Architecture::attn_attn;
  std::int64_t hidden = 500;           // units of each direction; of a Transformer half its width
  std::int64_t decoder_hidden = 1000;  // units of the decoder's GRUs
  std::int64_t size = 0;               // numbers of a sentence's vector; 0: those of a state, 2 hidden
  std::int64_t heads = 8;              // r, of the inner attention
  std::int64_t attention = 500;        // d, hidden units of the inner and of the decoder's attention
  bool begins_with_sentence = false;   // whether the decoder of compound attention begins with M, too
  std::int64_t layers = 1;             // of the encoder; of a Transformer's decoder, too
  std::int64_t attention_heads = 8;    // of a Transformer's attentions
  std::int64_t inner = 2048;           // of its feed-forward layers
  double dropout = 0.1;                // on words, states, and what words are told from
};

template <OptionsOf<TranslationOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied);
  visit("source_words", of.source_words);
  visit("architecture", of.architecture);
  visit("hidden", of.hidden);
  visit("decoder_hidden", of.decoder_hidden);
  visit("size", of.size);
  visit("heads", of.heads);
  visit("attention", of.attention);
  visit("begins_with_sentence", of.begins_with_sentence);
  visit("layers", of.layers);
  visit("attention_heads", of.attention_heads);
  visit("inner", of.inner);
  visit("dropout", of.dropout);
}

class TranslationDecoder;

/// Compound-attention translation (paper 003, Cifka and Bojar 2018), with all architectures that it compares.
/// Batches have two fields: the source, and the target with its ends.
///
/// Read in the paper: Table 1; A = softmax(U tanh(W H^T)), M = A H, states projected before; a conditional
/// GRU, a plain one where the decoder only begins with the sentence.
/// Read in its public code: no biases in eq. 2; a biased projection of states; what words are told from is
/// tanh(W [s; y; c]), as wide as words' vectors; `begins_with_sentence`.
/// Inferred: the first state is tanh(W z + b); compound attention without `begins_with_sentence` has a learnt
/// one.
class TranslationNetwork : public WritingNetwork, public nn::Decoder {
 public:
  using Options = TranslationOptions;
  explicit TranslationNetwork(const TranslationOptions& options);
  const TranslationOptions& options() const { return options_; }

  WordInputs word_inputs() const override { return {.ids = options_.source_words}; }
  at::Tensor word_rows(const Words& words) override;
  void load_source_words(const at::Tensor& rows);  // [source_words, E]

  /// M flattened, head after head; or the last, the mean or the largest states. InvalidInput where there is
  /// no such vector: attn and trf.
  at::Tensor encode(const Sequences& sentences) override;
  /// All that the decoder is given of sentences: {z [B, dim]}; of attn {H [B, T, 2 hidden], mask [B, T],
  /// last states [B, 2 hidden]}; of trf {H, mask}.
  nn::DecoderMemory read(const Sequences& sentences);
  training::Loss loss(const training::TensorBatch& batch) override;

  nn::DecoderStart start(const nn::DecoderMemory& given) override;
  nn::DecoderStep step(const at::Tensor& ids, const nn::DecoderMemory& memory,
                       const nn::DecoderCache& cache) override;

  /// A: how much of each word each head is made of.  -> [B, r, T]; InvalidInput without inner attention
  at::Tensor inner_attention(const Sequences& sentences);
  /// B: how much of each head, or of each word of the source, each word of the target is written from, its
  /// end, too. `given` is what `read` made. Of a Transformer the mean of the heads of one layer.
  /// -> [B, T', r or T]; InvalidInput where the decoder has no attention
  at::Tensor attention(const nn::DecoderMemory& given, const at::Tensor& ids, const at::Tensor& lengths,
                       std::int64_t layer = -1);

 private:
  struct States {
    at::Tensor h;     // [B, T, 2 hidden]
    at::Tensor last;  // [B, 2 hidden]; undefined of a Transformer
  };
  States states(const Sequences& s) const;
  at::Tensor vector_of(const States& found, const Sequences& s) const;  // [B, dim]
  nn::DecoderMemory given(const Sequences& s) const;
  at::Tensor told(const nn::DecoderMemory& given, const training::TokenTensors& words) const;
  at::Tensor drop(const at::Tensor& x) const;

  TranslationOptions options_;
  std::shared_ptr<nn::WordEmbedding> source_;
  std::shared_ptr<nn::RecurrentStack> recurrent_;
  std::shared_ptr<nn::Positions> positions_;
  std::shared_ptr<nn::TransformerEncoder> transformer_;
  std::shared_ptr<nn::AttentionPooling> inner_;
  std::shared_ptr<torch::nn::LinearImpl> project_;  // of heads; null where they have their width
  std::shared_ptr<TranslationDecoder> decoder_;
};

}  // namespace sentencode::models
