#pragma once

#include "sentencode/models/writing_network.h"

namespace sentencode::models {

struct FastSentOptions {
  nn::WordWriterOptions words{.trainable_words = true, .word_bias = false};
  bool autoencode = false;
};

template <OptionsOf<FastSentOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  visit("tied", of.words.tied, {"Ties the target vectors to the source vectors; the paper has both."});
  visit("word_bias", of.words.word_bias,
        {"Adds a bias for each word to the output layer; the paper has none."});
  visit("autoencode", of.autoencode, {"Predicts the words of the sentence itself, too: FastSent+AE."});
}

/// FastSent (Hill, Cho and Korhonen 2016), a baseline of papers 000 and 001: the sentence embedding is the
/// sum of the source vectors of its words, and predicts by one softmax over the target vectors each word of
/// the previous and of the next sentence. Batches have three fields: the sentence, the previous one, the next
/// one, without ends.
///   z_i = sum_{w in S_i} u_w,  loss = -sum_{w in S_{i-1} and S_{i+1}} log softmax(v_w . z_i)
/// FastSent+AE also predicts the words of S_i. The normaliser of the softmax is the same for all words that z
/// predicts, and is computed once for each sentence.
///
/// In the paper: the sum, two vectors for each word, no word bias, the objective.
/// In its public code (a changed gensim): a hierarchical softmax, where we compute the full one; the gradient
/// of the source vectors divided by the number of words, where ours is exact; random initial vectors of 100
/// dimensions, where ours are word vectors.
class FastSentNetwork : public WritingNetwork {
 public:
  using Options = FastSentOptions;
  explicit FastSentNetwork(const FastSentOptions& options);
  const FastSentOptions& options() const { return options_; }

  at::Tensor encode(const Sequences& sentences) override;
  training::Loss loss(const training::TensorBatch& batch) override;
  /// -log p of the words of each sentence that is predicted.
  std::vector<std::string> figures() const override;

 private:
  FastSentOptions options_;
};

}  // namespace sentencode::models
