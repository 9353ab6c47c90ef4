#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sentencode/models/convolutional_encoder.h"
#include "sentencode/models/writing_network.h"

namespace torch::nn {
class LinearImpl;
}
namespace sentencode::nn {
class RecurrentStack;
}

namespace sentencode::models {

class StateDecoder;

struct CNNLSTMContextOptions {
  nn::WordWriterOptions words{.trainable_words = true, .tied = true};
  ConvolutionalOptions layers{};
};

template <OptionsOf<CNNLSTMContextOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  for_options(of.words, visit);
  for_options(of.layers, visit);
}

/// The models of Gan, Pu, Henao, Li, He and Carin (2017) that learn from ordered text, baselines of paper
/// 000: a convolutional encoder, and LSTMs that generate sentences. All sentences have their ends; the
/// encoder reads them, too.
///
/// In their public code, which has the autoencoder only: tanh and the maximum over time of convolutions over
/// 3, 4 and 5 words; one word table, initialised with word vectors and trained, whose words the softmax reads
/// after a linear map of the decoder states; h_0 = tanh(W z + b).
/// Our choice: decoders read the embedding in their initial state only, as paper 000 says; the public code
/// adds a linear map of it to each step. c_0 is made like h_0, where the public code has zeros. A begin
/// symbol is the first input, where the public code predicts the first word from h_0.
class CNNLSTMContextNetwork : public WritingNetwork {
 public:
  using Options = CNNLSTMContextOptions;
  const CNNLSTMContextOptions& options() const { return options_; }
  at::Tensor encode(const Sequences& sentences) override;
  at::Tensor end() const override { return writer().end(); }

 protected:
  CNNLSTMContextNetwork(const std::string& name, const CNNLSTMContextOptions& options);
  /// A decoder that reads a code of `width` dimensions.
  std::shared_ptr<StateDecoder> decoder(const char* name, std::int64_t width);
  nn::WrittenLoss decoder_loss(const StateDecoder& decoder, const at::Tensor& code,  // [B, width]
                               const training::TokenTensors& words) const;

 private:
  CNNLSTMContextOptions options_;
  ConvolutionalEncoder encoder_;
  std::shared_ptr<torch::nn::LinearImpl> narrow_;  // to the width of words
};

/// The composite model: the embedding z is the code of two decoders, of the sentence and of the next one.
/// Batches have these two fields. The loss is -log p(S_i | z_i) - log p(S_{i+1} | z_i); Gan et al. weight
/// both terms, we do not.
class CompositeCNNNetwork : public CNNLSTMContextNetwork {
 public:
  explicit CompositeCNNNetwork(const CNNLSTMContextOptions& options);
  training::Loss loss(const training::TensorBatch& batch) override;
  /// -log p of each decoder's words.
  std::vector<std::string> figures() const override { return {"sentence", "next"}; }

 private:
  std::shared_ptr<StateDecoder> sentence_, next_;
};

/// The hierarchical model: an LSTM, the paragraph generator, reads the embeddings of consecutive sentences;
/// each of its states is the code of the decoder of the next sentence. Batches have two or more fields:
/// consecutive sentences, of which all but the first are predicted.
///   u_i = LSTM_p(u_{i-1}, z_i),  loss = -sum_i log p(S_{i+1} | u_i)
class HierarchicalCNNNetwork : public CNNLSTMContextNetwork {
 public:
  explicit HierarchicalCNNNetwork(const CNNLSTMContextOptions& options);
  training::Loss loss(const training::TensorBatch& batch) override;

 private:
  std::shared_ptr<nn::RecurrentStack> paragraph_;
  std::shared_ptr<StateDecoder> next_;
};

}  // namespace sentencode::models
