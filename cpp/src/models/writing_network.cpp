#include "sentencode/models/writing_network.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/util/Exception.h>

namespace sentencode::models {

using at::Tensor;

WritingNetwork::WritingNetwork(const std::string& name, const nn::WordWriterOptions& words, std::int64_t dim,
                               std::int64_t states)
    : SentenceNetwork(name), dim_(dim), writer_(*this, words, states) {}

WordInputs WritingNetwork::word_inputs() const {
  const nn::WordWriterOptions& options = writer_.options();
  return {.ids = options.trainable_words ? options.words : 0};
}

Tensor WritingNetwork::word_rows(const Words& words) {
  const Tensor rows = writer_.vectors(words.ids.clamp_min(0));           // [W, E]
  return at::where((words.ids >= 0).unsqueeze(1), rows, words.vectors);  // [W, E]
}

Sequences WritingNetwork::words_of(const training::TokenTensors& field) const {
  return Sequences::of(writer_.vectors(field.ids), field.lengths, field.full, field.host_lengths);
}

void WritingNetwork::check_fields(const training::TensorBatch& batch, std::size_t fields,
                                  const char* what) const {
  TORCH_CHECK_VALUE(batch.fields.size() == fields, name(), ": a batch has ", fields, " fields (", what,
                    "); got ", batch.fields.size());
}

void WritingNetwork::check_code(const Tensor& z) const {
  TORCH_CHECK_VALUE(z.dim() == 2 && z.size(1) == dim_, name(), ": z must be [batch, ", dim_, "], got ",
                    z.sizes());
}

training::Loss WritingNetwork::sum_of(const std::vector<nn::WrittenLoss>& losses,
                                      const std::vector<std::int64_t>& words) {
  const auto added = [](const Tensor& sum, const Tensor& term) { return sum.defined() ? sum + term : term; };
  training::Loss loss;
  std::vector<Tensor> figures;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    loss.sum = added(loss.sum, losses[i].sum);
    loss.count += static_cast<double>(words[i]);
    if (losses[i].correct.defined()) loss.right = added(loss.right, losses[i].correct);
    figures.push_back(losses[i].sum.detach().to(at::kDouble));
    figures.push_back(at::full({}, words[i], figures.back().options()));
  }
  loss.figures = at::stack(figures).view({-1, 2});
  return loss;
}

}  // namespace sentencode::models
