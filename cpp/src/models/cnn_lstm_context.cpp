#include "sentencode/models/cnn_lstm_context.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <torch/nn/modules/linear.h>

#include "sentencode/models/state_decoder.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

CNNLSTMContextNetwork::CNNLSTMContextNetwork(const std::string& name, const CNNLSTMContextOptions& options)
    : WritingNetwork(name, checked(options).words, options.layers.dim(), options.words.features),
      options_(options),
      encoder_(*this, options.words.features, options.layers) {
  narrow_ = register_module("narrow", nn::xavier_linear(options.layers.hidden, options.words.features));
}

Tensor CNNLSTMContextNetwork::encode(const Sequences& sentences) {
  return encoder_.forward(sentences, nn::trains(*this));  // [B, dim]
}

std::shared_ptr<StateDecoder> CNNLSTMContextNetwork::decoder(const char* name, std::int64_t width) {
  return register_module(
      name, std::make_shared<StateDecoder>(options_.words.features, width, options_.layers.hidden));
}

nn::WrittenLoss CNNLSTMContextNetwork::decoder_loss(const StateDecoder& decoder, const Tensor& code,
                                                    const training::TokenTensors& words) const {
  const bool trains = nn::trains(*this);
  Sequences y = Sequences::of(writer().vectors(writer().before(words.ids)), words.lengths, words.full,
                              words.host_lengths);  // [B, T, E]
  y.x = options_.layers.drop_input(y.x, trains);
  const Tensor h = narrow_->forward(decoder.forward(code, y));  // [B, T, E]
  return writer().loss(h, words.ids, y.key_mask(), trains);
}

CompositeCNNNetwork::CompositeCNNNetwork(const CNNLSTMContextOptions& options)
    : CNNLSTMContextNetwork("CompositeCNNNetwork", options) {
  sentence_ = decoder("sentence", dim());
  next_ = decoder("next", dim());
}

training::Loss CompositeCNNNetwork::loss(const training::TensorBatch& batch) {
  check_fields(batch, 2, "sentences, the next ones");
  const auto &sentence = batch.fields[0], &next = batch.fields[1];
  const Tensor z = encode(words_of(sentence));  // [B, dim]
  return sum_of({decoder_loss(*sentence_, z, sentence), decoder_loss(*next_, z, next)},
                {sentence.tokens, next.tokens});
}

HierarchicalCNNNetwork::HierarchicalCNNNetwork(const CNNLSTMContextOptions& options)
    : CNNLSTMContextNetwork("HierarchicalCNNNetwork", options) {
  const std::int64_t hidden = options.layers.hidden;
  paragraph_ =
      register_module("paragraph", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                       .cell = nn::Cell::lstm, .features = dim(), .hidden = hidden}));
  next_ = decoder("next", hidden);
}

training::Loss HierarchicalCNNNetwork::loss(const training::TensorBatch& batch) {
  const auto& sentences = batch.fields;
  TORCH_CHECK_VALUE(sentences.size() >= 2, name(),
                    ": a batch has two or more fields (consecutive sentences); got ", sentences.size());
  std::vector<Tensor> z;
  for (std::size_t i = 0; i + 1 < sentences.size(); ++i) z.push_back(encode(words_of(sentences[i])));
  const Tensor u = paragraph_->forward(at::stack(z, 1)).output;  // [B, N, H]
  std::vector<nn::WrittenLoss> losses;
  std::vector<std::int64_t> words;
  for (std::size_t i = 1; i < sentences.size(); ++i) {
    losses.push_back(decoder_loss(*next_, u.select(1, static_cast<std::int64_t>(i) - 1), sentences[i]));
    words.push_back(sentences[i].tokens);
  }
  training::Loss loss = sum_of(losses, words);
  loss.figures = Tensor();
  return loss;
}

}  // namespace sentencode::models
